"""The running worker. Start reading in `worker.runtime.loop`."""

"""The running worker. Start reading in `driftway.worker.stream.worker`."""

"""The consumer-group worker: predict, learn, commit exactly once. Start reading in `driftway.worker.stream.worker`."""

"""The worker's HTTP port: the server, its routes, and predictions on request."""

"""The page at `/` of a worker's HTTP port: its whole group through the output topics, and the worker itself."""

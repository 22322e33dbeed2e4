"""Tools around a running deployment, and for development; none of them is needed by the worker."""

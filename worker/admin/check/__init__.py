"""Checks of a deployment before its first worker: each file judges one kind of thing; `run` joins them."""

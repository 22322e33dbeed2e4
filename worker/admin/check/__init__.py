"""Checks of a deployment before its first worker: each file has the checks of one subject; `run` runs all."""

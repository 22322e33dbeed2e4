"""The commands `replay` and `streams`: options, progress and reports on top of `producers`."""

"""The commands `replay` and `streams`: options, progress and reports; the work lies in `producers`."""

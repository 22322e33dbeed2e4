"""The commands of the worker's side; the only modules here that know click."""

"""The worker's commands, and options that several commands share; in the worker only `cli` packages use click."""

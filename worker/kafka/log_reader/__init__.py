"""Readers of logs that are members of no group: of single messages, and of columns by either client."""

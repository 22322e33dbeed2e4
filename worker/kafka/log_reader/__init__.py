"""Readers of logs outside any group: as single messages, or as columns with either client."""

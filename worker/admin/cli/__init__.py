"""The commands of the operator tools."""

"""The commands of the tools."""

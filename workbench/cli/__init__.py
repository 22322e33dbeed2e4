"""The commands of the workbench."""

"""Trees and forests on plain lists of rows. See docs/algorithms/trees.md."""

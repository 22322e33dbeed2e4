"""Convert cells to rows: a kernel or a function for each kind of feature."""

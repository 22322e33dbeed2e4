"""Files with columns, one reader per format, independent of the use of their rows."""

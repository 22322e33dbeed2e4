"""Files with columns, one reader per format; what their rows are used for is not known here."""

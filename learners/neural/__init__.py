"""Networks whose depth is learned online."""

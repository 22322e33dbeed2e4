"""Rolling quality of predictions, in constant memory."""

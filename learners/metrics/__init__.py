"""Rolling metrics of predictions, in constant memory."""

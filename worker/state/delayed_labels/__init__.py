"""Labels that arrive later than their events."""

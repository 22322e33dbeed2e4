"""Labels that come later than their events."""

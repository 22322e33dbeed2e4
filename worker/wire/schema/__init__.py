"""Event schemas: map fields of any JSON object to features, label, id and time."""

"""Events as they come: a schema maps fields of any JSON object to features, label, id and time."""

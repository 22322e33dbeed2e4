"""A schema of events proposed from the first of them: what is seen per path, what is made of it, and how it is told."""

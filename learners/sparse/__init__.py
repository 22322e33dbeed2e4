"""Linear learners whose weights become exactly zero where a feature does not help; O(d) per row."""

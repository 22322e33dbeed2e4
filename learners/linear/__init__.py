"""First-order linear learners: one weight vector, O(d) per row."""

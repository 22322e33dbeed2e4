"""`auto`: many kinds of experts, and a mixture that learns their weights."""

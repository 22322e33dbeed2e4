"""Every learner x every check."""

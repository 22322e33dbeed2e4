"""Optimal margin distribution learning: every margin close to 1, rather than the smallest one large."""

"""`auto`: experts of many kinds side by side, and a mixture of them that learns which to believe."""

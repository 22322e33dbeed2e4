"""Experts of `auto` on single values of features: categories that are numbers without order."""

"""Curves of accuracy, and how they are drawn: PNG, SVG or HTML."""

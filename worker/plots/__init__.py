"""Accuracy curves, and drawing them as PNG, SVG or HTML."""

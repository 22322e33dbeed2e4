"""Texts of JSON: numbers and other tokens, in kernels."""

"""Evaluate learners over grids of their parameters, and write what was found as a page."""

"""Commands that make the pages of docs/results: the figures of the papers and of this house, regenerated."""

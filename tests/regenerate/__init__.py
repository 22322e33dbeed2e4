"""Commands that regenerate the pages of docs/results, with the papers' figures and our own."""

"""Ensembles: experts that are added, removed and weighted by how well they predict."""

"""Ensembles: copies of one learner, which come, go and are weighed by how well they predict."""

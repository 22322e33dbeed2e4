"""Tables that compare learners on data sets: ten pieces of each stream, with tests of significance."""

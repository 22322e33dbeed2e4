"""Tables that are contests: learners on data sets, ten pieces of each stream, tested for significance."""

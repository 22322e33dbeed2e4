"""Plans: which models a group has, and from which offset on in each partition."""

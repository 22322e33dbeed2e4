"""Plans: which models a group has, and at which offset each partition took them."""

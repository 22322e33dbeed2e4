"""Online to batch: procedures that make one good hypothesis from a bounded set of rows and an online learner."""

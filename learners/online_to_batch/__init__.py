"""Online to batch: procedures that make one good hypothesis from a finite set of rows and an online learner."""

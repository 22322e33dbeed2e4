"""From online to batch: procedures that make one good hypothesis of a bounded set of rows and a learner that errs."""

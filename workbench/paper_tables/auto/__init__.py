"""`--table auto`: the learner that needs no tuning, compared with all others, the papers and the peers."""

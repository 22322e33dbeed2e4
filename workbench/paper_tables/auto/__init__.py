"""`--table auto`: what the learner that needs no tuning is worth beside all others, the papers and the peers."""

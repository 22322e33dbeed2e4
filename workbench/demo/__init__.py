"""`driftway demo`: the public commands as child processes, a live table, and the check that nothing was lost."""

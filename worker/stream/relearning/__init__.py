"""Relearn the models of a plan from the log: in the background, or again in a restore or an audit."""

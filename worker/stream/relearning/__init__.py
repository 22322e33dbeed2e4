"""Relearn the models of a plan from the log: beside a task, or once more where a restore or an audit passes it."""

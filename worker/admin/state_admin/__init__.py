"""States by hand: what the snapshot topic holds, the state at any offset, and a file made a group's state.

`past` lists, `travel` rebuilds, `planting` imports, `description` says what is in a state.
"""

"""Managing states: list snapshots, rebuild the state at any offset, import a file as a group's state.

`listing` lists, `state_at_offset` rebuilds, `import_state` imports, `description` says what is in a state.
"""

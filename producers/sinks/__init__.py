"""Where a replay's messages go: a topic by either client, transactions on one, or a file.

`outlet` is what the replay sees, `sender` what all ways to a topic have in common; `plain` and `native` are the two
clients, `transactions` goes through the plain one.
"""

"""Where a replay's messages go: a topic through either client, a topic in transactions, or a file.

`sink` is the interface that the replay uses and `kafka` what the sinks for topics share; `confluent` and `librdkafka`
are the two clients, and `transactions` builds on the first.
"""

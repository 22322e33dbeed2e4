"""`driftway audit`: a deployment's outputs beside what the same rows give when they are computed once more.

`stream` reads one partition of a topic, `outputs` compares an output topic's records with the recomputed ones in order,
`snapshots` puts chunks together, `partition` moves all of them in lockstep, `deployment` goes through the partitions.
Nothing is written to Kafka and no group is joined.
"""

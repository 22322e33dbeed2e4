"""`driftway audit`: recompute a deployment's outputs from the same rows and compare them with its topics.

`outputs` compares an output topic's records with the recomputed ones in order, `snapshots` reassembles snapshots from
their chunks, `partition` moves all streams in lockstep, `deployment` iterates over the partitions.
Nothing is written to Kafka and no group is joined.
"""

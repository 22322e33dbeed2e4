"""The bench: the worker beside the bare client that only copies, in one run, on the same messages.

One module per concern: `cases` what is measured, `workload` the rows and topics, `passthrough` the bare client,
`gauge` a process's cost, `contest` the two sides in turn, `throughput` and `latency` the two yardsticks, `report`
and `picture` what is shown. Peers, tuning and conclusions do not belong here.
"""

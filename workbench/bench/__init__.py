"""The bench: the worker beside two that only copy, the bare client and the C library, in one run, on the same messages.

One module per concern: `cases` what is measured, `workload` the rows and topics, `passthrough` the bare client, `limit`
the C library, `gauge` a process's cost, `contest` the sides in turn, `throughput` and `latency` the two yardsticks,
`report` and `picture` what is shown. Peers, tuning and conclusions do not belong here.
"""

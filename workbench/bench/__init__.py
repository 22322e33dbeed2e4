"""Compare the worker with two programs that copy, with the Python client and with the C library, on the same messages.

One module per concern: `cases` what is measured, `workload` rows and topics, `python_copy` and `native_copy` the
copiers, `contender` a side's processes, `process_cost` their cost, `throughput` and `latency` the measurements,
`benchmark` the order of the sides, `report` and `picture` the output. Peers, tuning and conclusions do not belong here.
"""

"""Speed, by hand: nothing here runs in the default test run, because a busy machine would decide the outcome.

`handwritten` holds, for one to three learners of a family, the loop that one would write by hand with numba: no guards,
no shared vector functions. `test_kernels` runs these learners beside their plain loops, alternating, prints rows/s of
both, and with DRIFTWAY_BENCH=1 asserts that each reaches 0.8 of the plain loop's:

    DRIFTWAY_BENCH=1 pytest tests/bench -m slow -s

`test_mapped` reads events by a schema beside events of the plain form, in the same way.

Throughput and latency on a real Kafka are measured by `driftway bench`; tests/broker/test_bench.py shows that it works.
"""

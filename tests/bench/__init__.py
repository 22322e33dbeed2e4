"""Speed measurements, run by hand; not part of the default test run, because a busy machine would decide the outcome.

`handwritten` holds, for one to three learners per family, the loop that one would write by hand with numba: no guards,
no shared vector functions. `test_kernels` runs these learners and their plain loops in alternation, prints the rows/s
of both, and with DRIFTWAY_BENCH=1 asserts that each learner reaches 0.8 of its plain loop's rate:

    DRIFTWAY_BENCH=1 pytest tests/bench -m slow -s

`test_mapped` compares decoding events by a schema with decoding events of the plain form in the same way.

`driftway bench` measures throughput and latency on a real Kafka; tests/broker/test_bench.py checks that it works.
"""

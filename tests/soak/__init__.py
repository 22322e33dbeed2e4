"""The soak test: an hour of paced load and random faults, followed by a complete audit. `make soak`.

Nothing here is part of a default test run; `tests/unit/test_soak.py` tests what needs neither Kafka nor a process.
"""

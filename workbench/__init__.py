"""For development and demonstrations: a local broker, the demo, the benchmark, the tables of papers.

It may import everything; nothing but the command line imports it.
"""

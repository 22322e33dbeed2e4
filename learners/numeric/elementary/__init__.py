"""exp, log, sin, cos, pow, erfc in plain arithmetic: the same bits on every machine (docs/decisions/0021).

Results of the C library depend on the processor: it runs other code if there is FMA or AVX2. These functions use only
+, -, *, /, floor and the bits of a number, which IEEE 754 defines. One file per family; `tables` holds the constants.
"""

"""exp, log, sin, cos, pow, erfc in plain arithmetic: the same bits on every machine (docs/decisions/0021).

The C library's change with the processor: it takes other code where there are FMA or AVX2. These use nothing but
+, -, *, /, floor and the bits of a number, which IEEE 754 fixes. One file per family; `tables` holds their numbers.
"""

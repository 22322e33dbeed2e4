"""Arithmetic for kernels, bitwise equal on all machines: elementary functions, vectors, matrices, random numbers."""

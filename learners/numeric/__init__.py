"""Arithmetic in kernels, the same bits everywhere: elementary functions, vectors, matrices, random numbers."""

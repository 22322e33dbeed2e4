"""Read and write JSON text in kernels: numbers, other tokens, output buffers."""

"""The offline laboratory: the same kernels without Kafka, and whether differences are more than chance."""

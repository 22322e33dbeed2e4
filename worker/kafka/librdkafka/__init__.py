"""librdkafka's public C interface, without a Python object per message. Nothing outside this room knows of ctypes.

`library` the functions and their errors, `message` the layout of messages as kernels read and write them, `trial` asks
whether both are so here, `handle` clients and the lists of partitions that they take.
"""

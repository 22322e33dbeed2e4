"""librdkafka's public C interface, without a Python object per message. Nothing outside this package uses ctypes.

`library` holds the functions and their errors, `message` the layout of messages as kernels read and write them,
`handle` clients and topic-partition lists; `abi_check` checks that functions and layout are as expected.
"""

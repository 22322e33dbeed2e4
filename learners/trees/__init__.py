"""Trees that split their leaves while rows arrive, in arenas of fixed size, and forests of them."""

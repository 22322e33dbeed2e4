"""The second mixture of `auto`: it adds forests and a network to all other experts, and decides when they are used."""

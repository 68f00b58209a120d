"""How long our own steps take; see `__main__`."""

"""The ways to read an action: ints (the definition), NumPy columns, machine code, Z3 terms, TLA+; never a protocol."""

"""The ways to read an action: ints (the definition), columns, Z3 terms, strict; never a protocol."""

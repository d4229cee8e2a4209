"""Result documents: what each command found, as data and as sentences about it."""

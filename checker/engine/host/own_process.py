"""Whether this process is the program and no other code's: then models, properties and lemmas are those of the sources."""

is_program = False
"""Set by the command line, but for `verify`, which takes nothing from an earlier run."""

"""One file for each format that describes a cluster.

A module names the tool (`NAME`), and says how a file of its kind is recognised: by a line (`LINE`, a pattern) or by the
tree of a JSON or YAML document (`is_tree`).  `read(document)` gives a `Described`.  Adding a format is adding a file.
"""

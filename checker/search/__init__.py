"""One search: the level loop, its workers, the set of visited states, symmetry, recovery; never a file that people read."""

"""The parts of a search: the level loop, its workers, visited states, symmetry, recovery; never a file that people read."""

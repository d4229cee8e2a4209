"""A partition without a leader: the question's function, its document and its sentences."""

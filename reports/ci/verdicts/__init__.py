"""The verdicts of a CI gate, one for each property of each cell, with the lines of the user's files."""

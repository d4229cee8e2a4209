"""The modern protocol as a run of a real cluster can be held against it; never what a run looks like on disk."""

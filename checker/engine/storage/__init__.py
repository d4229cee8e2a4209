"""Levels of states as immutable files, on a disk or an object store; never how a state is expanded."""

"""The words of the field that `explain` explains."""

"""The glossary that `explain` prints."""

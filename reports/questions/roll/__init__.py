"""`roll` (a rolling restart) and `plan` (a maintenance plan): documents, page, sentences."""

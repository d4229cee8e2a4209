"""What each clause is for, as a document."""

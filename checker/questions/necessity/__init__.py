"""What each guard clause and mechanism of a model is for."""

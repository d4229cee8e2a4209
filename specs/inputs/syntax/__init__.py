"""What a line of a user's file means, before it is known whose setting it is."""

"""Every cell of a matrix, and the boundary rule that is proved equal to it."""

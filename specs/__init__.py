"""What must hold, and at which sizes."""

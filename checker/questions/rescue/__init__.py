"""A partition without a leader: whom to elect, what that loses, and for whom to wait."""

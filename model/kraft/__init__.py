"""The modern protocol: state and actions of controller, leader, follower, broker and clients; never a search, never I/O."""

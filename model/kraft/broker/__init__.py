"""What a broker does: it leads, follows, reads the metadata; never what the controller decides."""

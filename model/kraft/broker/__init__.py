"""What a broker does: it leads, follows, reads the metadata, stops and starts; never what the controller decides."""

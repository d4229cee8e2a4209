"""One file per protocol version; each exports `MODEL` and holds only its difference."""

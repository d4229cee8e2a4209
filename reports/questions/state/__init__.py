"""One state of a partition, as a document and as lines."""

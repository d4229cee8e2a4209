"""One state of a partition: what is committed and readable, who may lead, and what one fault loses."""

"""What was seen of a real partition, read from files into one history; never a judgement of it."""

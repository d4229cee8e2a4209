"""`nines`: bounds of the probability that an acknowledged record is lost; documents, page and screen."""

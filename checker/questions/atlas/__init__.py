"""The atlas: the answers to common questions, decided once and looked up by the question's identifier."""

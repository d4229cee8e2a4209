"""The questions that the commands ask: each folder decides one; never how an answer is shown."""

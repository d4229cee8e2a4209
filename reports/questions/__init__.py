"""A folder for each question: its Python function, its documents, pages and screens; named as in `checker/questions`."""

"""Many questions at once: sweeps and their rule, corpora, necessity; never how one search works."""

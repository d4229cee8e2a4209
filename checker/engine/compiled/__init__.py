"""The search in machine code: exact tables of states, the workers that share them, and a cache of compiled programs."""

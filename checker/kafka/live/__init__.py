"""A seeded run of a real cluster: workload, faults, and what was seen; never a judgement of it."""

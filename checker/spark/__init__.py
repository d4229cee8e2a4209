"""The Spark engine: its session, its jobs, its Java; never how a state is expanded."""

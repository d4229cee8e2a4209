"""What the Spark engine stands on: its session, its jobs, its tasks, its Java; never how a state is expanded."""

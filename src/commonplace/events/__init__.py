"""Events: one follower of the log a process, who tells those who listen, and the frames they are told in."""

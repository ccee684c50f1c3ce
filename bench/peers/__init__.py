"""The same work done by others, each in an environment of its own. `bench.peers.run` sets them up and lets them run."""

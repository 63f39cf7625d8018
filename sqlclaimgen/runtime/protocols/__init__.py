"""The three forms as generators without I/O: what to run, in what order, and what the answers mean."""

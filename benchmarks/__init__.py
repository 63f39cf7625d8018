"""How fast work is claimed and settled, against a loop written by hand, the server's limit and peers.

`make bench` runs everything and writes RESULTS.md; `make bench ARGS=quick` prints a first look.
"""

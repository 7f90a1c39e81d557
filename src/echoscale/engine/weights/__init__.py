"""Matrices drawn from a seed, and their eigenvalues. A topology is a file in `topologies`."""

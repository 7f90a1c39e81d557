"""From a seed to matrices, and their eigenvalues. A topology is a file in `topologies`."""

"""From a seed to matrices."""

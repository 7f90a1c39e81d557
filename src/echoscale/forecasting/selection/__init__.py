"""The search of `auto`: problem, candidates, splits, weights and the fitted model."""

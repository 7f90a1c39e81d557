"""The search of `auto`: problem, candidates, rounds of networks, weights and the fitted model."""

"""The live page: sliders, and at once what they do to a network."""

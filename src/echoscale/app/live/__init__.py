"""The live page: sliders for the hyper-parameters of a network, and pictures of their effects."""

"""The live page: sliders for the hyper-parameters of a network, and their effects at once."""

"""Snapshots of many sequences as the features of a readout: in memory, on the device, or in a file that survives a kill."""

from echoscale.readouts.features.blocks import compute
from echoscale.readouts.features.features import Features
from echoscale.readouts.features.store import FeaturesError, open

__all__ = ["Features", "FeaturesError", "compute", "open"]

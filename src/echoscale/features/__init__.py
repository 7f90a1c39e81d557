"""Snapshots of many sequences as the features of a readout: in memory, on the device, or in a file that survives a kill."""

from echoscale.features.blocks import compute as compute
from echoscale.features.features import Features as Features
from echoscale.features.store import FeaturesError as FeaturesError
from echoscale.features.store import open as open

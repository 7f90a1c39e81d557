"""From data to a fitted, explained model, beside the simple methods that it must beat."""

from echoscale.automatic.find import auto
from echoscale.automatic.found import Found
from echoscale.automatic.model import AutoModel
from echoscale.automatic.ranges import RangeWarning
from echoscale.automatic.sequence_model import SequenceModel

__all__ = ["AutoModel", "Found", "RangeWarning", "SequenceModel", "auto"]

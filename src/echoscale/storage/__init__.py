"""Save and load models, and export them to C and ONNX."""

from echoscale.storage.export import export
from echoscale.storage.save_load import StorageError, load, save

__all__ = ["StorageError", "export", "load", "save"]

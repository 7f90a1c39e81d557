"""Fitted models as files for programs without Python: C, ONNX."""

from echoscale.storage.export.model_files import export

__all__ = ["export"]

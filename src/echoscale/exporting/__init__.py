"""Fitted models as files for programs without Python: C, ONNX."""

from echoscale.exporting.export_file import export

__all__ = ["export"]

"""Export fitted models to files for programs without Python: C and ONNX."""

from echoscale.storage.export.model_files import export

__all__ = ["export"]

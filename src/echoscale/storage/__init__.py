"""Keep and ship: model files, and export to C and ONNX."""

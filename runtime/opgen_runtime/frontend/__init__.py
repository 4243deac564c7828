"""Front ends: models of other systems as programs of declared ops.

onnx/   ONNX models (optional extra `onnx`)
"""

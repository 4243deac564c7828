"""Front ends: models and arrays of other systems, on programs of declared ops.

onnx/   ONNX models (optional extra `onnx`)
dask/   arrays of Dask (optional extra `dask`)
"""

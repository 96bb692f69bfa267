"""Writes model.onnx beside this file, and holds onnxruntime's outputs against PyTorch's: python to_onnx.py

The file has the model alone: its inputs are what `prepare` gives, its output is what `finish` takes.
"""

from pathlib import Path

import onnxruntime
import torch

from model import example_inputs, load

path = str(Path(__file__).with_name("model.onnx"))
model, inputs = load(), example_inputs(3)
names = [f"input{at}" for at in range(len(inputs))] if len(inputs) > 1 else ["input"]
torch.onnx.export(model, inputs, path, input_names=names, output_names=["output"], dynamo=False,
                  dynamic_axes={name: {0: "batch"} for name in [*names, "output"]})
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
largest = 0.0
with torch.inference_mode():
    for batch in (1, 3):
        inputs = example_inputs(batch)
        expected = model(*inputs)
        found = session.run(None, {name: value.numpy() for name, value in zip(names, inputs)})[0]
        error = (torch.from_numpy(found) - expected).abs().max() / expected.abs().max().clamp(min=1)
        largest = max(largest, float(error))
if largest > 1e-4:
    raise SystemExit(f"model.onnx: onnxruntime's outputs differ from PyTorch's by {largest:.1e} of the largest")
print(f"model.onnx: onnxruntime's outputs differ from PyTorch's by at most {largest:.1e} of the largest")

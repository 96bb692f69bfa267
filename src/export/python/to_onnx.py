"""Writes model.onnx, and holds onnxruntime's outputs against PyTorch's: python to_onnx.py"""

import onnxruntime
import torch

from model import example_inputs, load

model, inputs = load(), example_inputs(3)
names = [f"input{at}" for at in range(len(inputs))] if len(inputs) > 1 else ["input"]
torch.onnx.export(model, inputs, "model.onnx", input_names=names, output_names=["output"], dynamo=False,
                  dynamic_axes={name: {0: "batch"} for name in [*names, "output"]})
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
with torch.inference_mode():
    for batch in (1, 3):
        inputs = example_inputs(batch)
        expected = model(*inputs)
        found = session.run(None, {name: value.numpy() for name, value in zip(names, inputs)})[0]
        error = (torch.from_numpy(found) - expected).abs().max() / expected.abs().max().clamp(min=1)
        assert error < 1e-4, f"onnxruntime differs by {error:.1e}"
print(f"model.onnx: onnxruntime's outputs differ from PyTorch's by at most {error:.1e}")

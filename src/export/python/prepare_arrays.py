"""Arrays as the model reads them; preparation.json has their form and what was fitted to the training rows."""

import json
from pathlib import Path

import numpy as np
import torch

SPEC = json.loads(Path(__file__).with_name("preparation.json").read_text(encoding="utf-8"))


def read(path):
    """The array of a .npy file, or that of the features in a .npz or safetensors file; a row for every sample."""
    if str(path).endswith(".safetensors"):
        from safetensors.numpy import load_file

        return load_file(path)[SPEC["x"]]
    found = np.load(path)
    return found if isinstance(found, np.ndarray) else found[SPEC["x"]]


def prepare(x):
    """Features (B, F), or images (B, C, H, W)."""
    x = torch.from_numpy(np.ascontiguousarray(x)).double()
    if "height" in SPEC:
        if x.dim() == 3:
            x = x.unsqueeze(1)
        elif SPEC["layout"] == "nhwc" or x.shape[1:] != (SPEC["channels"], SPEC["height"], SPEC["width"]):
            x = x.permute(0, 3, 1, 2)
    if SPEC["scales"]:
        scales = torch.tensor([[scale["mean"], scale["std"]] for scale in SPEC["scales"]], dtype=torch.float64)
        x = (x - scales[:, 0]) / scales[:, 1]
    return x.float()

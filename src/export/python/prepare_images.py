"""Images as the model reads them, prepared as its training images were; preparation.json has their size."""

import json
from pathlib import Path

import torch
from PIL import Image, ImageOps

SPEC = json.loads(Path(__file__).with_name("preparation.json").read_text(encoding="utf-8"))


def read(path):
    """The PNG and JPEG files below a folder, or the single one."""
    path = Path(path)
    endings = {".png", ".jpg", ".jpeg"}
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in endings) if path.is_dir() else [path]


def prepare(files):
    """Images (B, C, H, W) with values from -1 to 1."""
    return torch.stack([image(file) for file in files])


def image(file):
    """An image (C, H, W): RGB or its luma, resized bilinearly."""
    picture = Image.open(file)
    if SPEC["exif"]:
        picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I"):  # 16-bit grey, which Pillow would clip at 255
        picture = picture.point(lambda value: value * (1 / 257) + 0.5).convert("L")
    picture = picture.convert("RGB")
    if SPEC["channels"] == 1:
        picture = picture.convert("L")
    # In two steps, each rounded to whole numbers, as in training: height, then width.
    for size in ((picture.width, SPEC["height"]), (SPEC["width"], SPEC["height"])):
        if picture.size != size:
            picture = picture.resize(size, Image.Resampling.BILINEAR)
    pixels = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8).float()
    return (pixels / 127.5 - 1).reshape(SPEC["height"], SPEC["width"], SPEC["channels"]).permute(2, 0, 1)

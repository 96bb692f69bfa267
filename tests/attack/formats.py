"""Writers of small files in the formats that the program reads, each with ways to be wrong."""

import gzip
import io
import json
import struct
import zipfile
import zlib


def png(width, height, body=None, claimed=None, color=2):
    """A PNG image; `claimed` are other sizes in its header, `body` other pixels."""
    sizes = claimed or (width, height)
    header = struct.pack(">IIBBBBB", *sizes, 8, color, 0, 0, 0)
    channels = {0: 1, 2: 3, 3: 1, 6: 4}.get(color, 3)
    pixels = body if body is not None else b"".join(b"\0" + bytes([row * 7 % 256]) * width * channels for row in range(height))
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")]
    chunks = [struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def jpeg(width, height):
    """The headers of a JPEG image with these sizes, and hardly any pixels."""
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    quantization = b"\x00" + bytes([16]) * 64
    codes = b"\x00" + bytes([0, 1] + [0] * 14) + b"\x00"
    parts = [(0xDB, quantization), (0xC0, frame), (0xC4, codes), (0xDA, b"\x01\x01\x00\x00\x3f\x00")]
    segments = [b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data for marker, data in parts]
    return b"\xff\xd8" + b"".join(segments) + b"\x00" * 40 + b"\xff\xd9"


def idx_images(count, size=8, magic=2051, claimed=None, bytes_left=0):
    """An IDX file of images; `claimed` are other numbers in its header."""
    numbers = claimed or (count, size, size)
    body = bytes(index * 31 % 256 for index in range(count * size * size))
    return struct.pack(">I", magic) + b"".join(struct.pack(">I", number) for number in numbers) + body[: len(body) - bytes_left]


def idx_labels(count, magic=2049, claimed=None, largest=2):
    """An IDX file of labels."""
    header = struct.pack(">II", magic, claimed if claimed is not None else count)
    return header + bytes(index % (largest + 1) for index in range(count))


def bomb(megabytes, start=b""):
    """A small gzip file that becomes large."""
    return gzip.compress(start + bytes(megabytes << 20), compresslevel=1)


def safetensors(tensors, header=None, length=None, more=b""):
    """A safetensors file of `{name: (dtype, shape, bytes)}`; `header` and `length` replace what is right."""
    described, body = {}, b""
    for name, (kind, shape, content) in tensors.items():
        described[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    text = header if header is not None else json.dumps(described).encode()
    return struct.pack("<Q", length if length is not None else len(text)) + text + body + more


def npy(dtype, shape, content, header=None, fortran=False):
    """A file of NumPy; `header` replaces what is right."""
    said = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    text = (header if header is not None else said.ljust(117)) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def npz(arrays):
    """An archive of files of NumPy by name."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), array)
    return content.getvalue()


def perceptron(hidden=8, inputs=2):
    """The tensors of a perceptron with one hidden layer, under PyTorch's usual names."""
    floats = lambda number: struct.pack(f"<{number}f", *[index / 100 for index in range(number)])
    return {
        "layers.0.weight": ("F32", [hidden, inputs], floats(hidden * inputs)),
        "layers.0.bias": ("F32", [hidden], floats(hidden)),
        "layers.2.weight": ("F32", [1, hidden], floats(hidden)),
        "layers.2.bias": ("F32", [1], floats(1)),
    }

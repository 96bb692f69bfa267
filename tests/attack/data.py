"""Hostile data files in a tiny manifest: a run ends with a sentence or with rows, in bounded memory and time."""

import json
import os
import struct

import formats
import properties
from harness import GIGABYTE
from mutate import change_bytes
from projects import MANIFEST, REPOSITORY

MEMORY = 6 * GIGABYTE
SECONDS = 60

HEAD = """name = "tiny"

[models.mlp]
kind = "mlp"
hidden = 8
depth = 1

[train]
epochs = 1
batch-size = 4
{train}

[measure]
warmup-steps = 0

[datasets.own]
"""


def manifest(case, dataset, train=""):
    """Writes the manifest with these settings of its dataset."""
    case.write(MANIFEST, HEAD.format(train=train) + dataset + "\n")


def table(rows=40):
    """A small table that can be learned."""
    return "a,b,y\n" + "".join(f"{row},{row % 7},{row % 3}\n" for row in range(rows))


# Fields of a table that are no usual number.
FIELDS = [
    "", "nan", "NaN", "inf", "-inf", "1e999", "-1e999", "1e-999", "9" * 400, '"1"', '"', '""""', '"a\nb"', "\0",
    "\x1b[31m", "ä漢", "\u202e", "1,2", " 1 ", "0x10", "1_000", "1e38", "3.5e38", "-0", "true", "=1+1", "1;2", "1\t2",
    "\r", "\x85", "x" * 100_000, "<script>alert(7)</script>", "|", "`", "1e5", "+1", ".5", "5.", "١",
]


# What a manifest says of the columns of a table.
SAID = [
    "", "", "", "classes = true", "normalise = false", "test = 0.0\nvalidation = 0.0", 'ignore = ["a"]', 'ignore = ["a", "b"]',
    'columns.a = { category = true }', 'columns.a = { category = true, missing = "kind" }', 'columns.b = { missing = "flag" }',
    'columns.a = { missing = "median" }\ncolumns.y = { missing = "leave-out" }', 'columns.b = { missing = "leave-out" }',
    "columns.a = { fill = 1e999 }", "columns.b = { fill = -0.0 }", 'columns.a = { date = "%d" }', 'columns.a = { date = "%" }',
    'columns.b = { date = "%Y-%Q\\u0000" }', 'columns.b = { date = "" , missing = "mean" }', 'separator = ";"', 'separator = "ä"',
    'decimal = ","', 'missing-values = ["nan", "1", ""]', 'split = { by = "a" }', 'split = { group = "b" }', 'split = { column = "a" }',
    'split = { group = "a" }\ncolumns.a = { category = true }', 'split = { by = "a" }\ncolumns.a = { missing = "mean" }',
]


def csv(case):
    """A table: fields, separators, headers, lengths of rows, encodings, many columns or rows, a damaged Parquet file."""
    random = case.random
    text = table(random.choice([0, 1, 2, 3, 10, 40]))
    lines = text.splitlines()
    for _ in range(random.choice([1, 1, 2, 5])):
        at = random.randrange(len(lines))
        fields = lines[at].split(",")
        fields[random.randrange(len(fields))] = random.choice(FIELDS)
        lines[at] = ",".join(fields[: random.choice([3, 3, 3, 2, 1])] + random.choice([[], [], ["7"]]))
    content = random.choice(["\n", "\n", "\n", "\r\n", "\r"]).join(lines).encode() + random.choice([b"\n", b""])
    shape = random.randrange(14)
    if shape == 0:
        content = content.replace(b",", random.choice([b";", b"\t", b"|", b" "]))
    elif shape == 1:
        content = content.decode().encode(random.choice(["utf-16", "utf-8-sig", "utf-32"]))
    elif shape == 2:
        content = wide(random.choice([1, 2, 3000, 100_000, 1_000_000]))
    elif shape == 3:
        content = b"y\n" + b"1\n2\n" * random.choice([1, 30])
    elif shape == 4:
        content = b"a,b,y\n" + random.choice([b"0,0,0\n", b"1e38,-1e38,1e38\n", b"3,3,3\n"]) * random.choice([1, 40, 200_000])
    elif shape in (5, 6):
        content = change_bytes(random, change_bytes(random, table().encode()))
    elif shape == 7:
        content = random.choice([
            b"", b"\n", b"\n\n\n", b"y", b"a,b,y", b"y,y,y\n1,2,3\n", b"\0" * 5000, b'"' * 99,
            b"a,b,y\n\"" + b"1" * 300_000,
        ])
    elif shape == 8:
        content = (REPOSITORY / "tests/reference/tables/snappy.parquet").read_bytes()
        content = change_bytes(random, change_bytes(random, content))
    case.write("experiments/own.csv", content)
    more = dict.fromkeys(line for line in random.choices(SAID, k=2) if line)
    manifest(case, "\n".join(['kind = "csv"\npath = "own.csv"\ntarget = "y"', *more]))


def wide(columns):
    """A table with many columns and few rows."""
    header = ",".join([*(f"c{column}" for column in range(columns)), "y"])
    row = ",".join(["1"] * (columns + 1))
    return "\n".join([header, *[row] * 12, ""]).encode()


def images(case):
    """A folder of images: damaged, huge by their headers, of other formats, no files at all."""
    random = case.random
    edge = random.choice([0, 1, 7, 2**16, 2**31 - 1, 2**32 - 1])
    generated = '\ngenerate = { kind = "surface-textures", normal = 3, abnormal = 3, size = 8, seed = 1 }'
    hostile = [
        formats.png(8, 8, claimed=(edge, random.choice([8, 0, 30_000, 2**31]))),
        formats.png(30_000, 2_000, body=bytes(60_000_000)), formats.png(8, 8, color=random.choice([0, 3, 4, 5, 6])),
        formats.jpeg(random.choice([0, 1, 8, 65_535]), random.choice([0, 8, 65_535])), formats.png(1, 1),
        formats.png(2000, 1), b"", b"\x89PNG\r\n\x1a\n", b"GIF89a" + bytes(100),
        b"<svg xmlns='http://www.w3.org/2000/svg'/>", random.randbytes(3000),
    ]
    for label in ("a", "b"):
        for index in range(random.choice([1, 4, 8])):
            case.write(f"data/own/{label}/{index}.png", formats.png(8, 8))
    for index in range(random.choice([1, 1, 3])):
        content = random.choice(hostile) if random.random() < 0.6 else formats.png(8, 8)
        for _ in range(random.choice([0, 1, 3])):
            content = change_bytes(random, content)
        name = random.choice([
            "0.png", "1.png", f"x{index}.png", f"x{index}.jpg", f"x{index}.jpeg", "\x1b[31m.png", "a\nb.png", ".png",
            "x.txt",
        ])
        case.write(f"data/own/{random.choice('ab')}/{name}", content)
    strange(case, "data/own")
    size = random.choice([8, 8, 8, 1, 64])
    generate = random.choice([""] * 9 + [generated])
    more = [f"size = {random.choice([size, size, size, '[6, 9]', '[1, 70]', '[8]'])}"]
    more += random.sample(OF_IMAGES, random.choice([0, 1, 3]))
    if random.random() < 0.3:
        case.write("data/own/labels.csv", labels(random))
        more += ['labels = "labels.csv"', *random.choice([[], ["classes = true"], ['target = ["x", "y"]'], ['target = "y"', "classes = true"]])]
    manifest(case, "\n".join(['kind = "image-folder"', 'path = "../data/own"', *more]) + generate)


# What a manifest says of images.
OF_IMAGES = [
    "channels = 1", 'damaged = "leave-out"', "augment = { crop = 9, erase = 1.0 }", "augment = { rotation = 180.0, crop = 1000 }",
    "augment = { erase = 0.5, flip = 1.0 }",
]


def labels(random):
    """A file of labels: paths that are there, that lead out, or are none; fields that are no usual number."""
    lines = ["file,x,y"]
    for _ in range(random.choice([0, 1, 8, 60])):
        path = f"{random.choice('ab')}/{random.randrange(8)}.png"
        lines.append(f"{path},{random.randrange(5)},{random.randrange(3)}")
    for _ in range(random.choice([0, 0, 1, 4])):
        fields = random.choice(lines).split(",")
        fields[random.randrange(len(fields))] = random.choice([
            *FIELDS, "../experiments/tiny.toml", "/etc/passwd", "a/../../x.png", "a", ".", "a//0.png", "./a/0.png", "C:\\a.png",
        ])
        lines.insert(random.randrange(1, len(lines) + 1), ",".join(fields[: random.choice([3, 3, 2, 1])]))
    content = random.choice(["\n", "\n", "\r\n", "\r"]).join(lines).encode()
    return change_bytes(random, content) if random.random() < 0.2 else content


def strange(case, folder):
    """At times adds what is no regular file, or names that are no text, to a folder of data."""
    place = case.project / folder
    what = case.random.randrange(16)
    if what == 0:
        os.mkfifo(place / "a" / "pipe.png")
    elif what == 1:
        (place / "a" / "link.png").symlink_to(case.random.choice(["/dev/zero", "/nonexistent", "link.png", "/etc/passwd"]))
    elif what == 2:
        (place / "c").symlink_to(case.random.choice([".", "..", "/proc"]))
    elif what == 3:
        (place / "a" / "folder.png").mkdir()
    elif what == 4:
        with open(os.path.join(os.fsencode(place), b"a", b"\xff\xfe.png"), "wb") as file:
            file.write(formats.png(8, 8))
    elif what == 5:
        (place / case.random.choice(["\x1b]0;t\x07", "a\nb", "ä漢", "x" * 250, "c,d", "=1+1"])).mkdir()


def idx(case):
    """MNIST's files: wrong magic, huge counts, other lengths, gzip files that become large or are damaged."""
    random = case.random
    number = random.choice([20, 20, 1, 0])
    files = {}
    for part in ("train", "t10k"):
        files[f"{part}-images-idx3-ubyte"] = formats.idx_images(number)
        files[f"{part}-labels-idx1-ubyte"] = formats.idx_labels(number)
    for name in random.sample(sorted(files), random.choice([1, 1, 2])):
        right = files.pop(name)
        packed(case, files, name, wrong_idx(random, right, "images" in name))
    for name, content in files.items():
        case.write(f"data/own/{name}", content)
    manifest(case, 'kind = "mnist"\npath = "../data/own"')


def wrong_idx(random, right, is_images):
    """An IDX file that is wrong in one respect; `None` for an absent one."""
    huge = random.choice([0, 1, 19, 21, 2**16, 2**31 - 1, 2**32 - 1])
    edge = random.choice([8, 0, 1, 2**16, 2**32 - 1])
    images = [
        lambda: formats.idx_images(20, magic=random.choice([2049, 0, 2**32 - 1])),
        lambda: formats.idx_images(20, claimed=(huge, edge, edge)),
        lambda: formats.idx_images(20, bytes_left=random.choice([1, 700])),
    ]
    labels = [
        lambda: formats.idx_labels(20, magic=2051),
        lambda: formats.idx_labels(20, claimed=huge),
        lambda: formats.idx_labels(20, largest=250),
    ]
    any_file = [
        lambda: change_bytes(random, right), lambda: b"", lambda: right + bytes(random.choice([1, 10**7])), lambda: None,
    ]
    return random.choice([*any_file, *(images if is_images else labels)])()


def packed(case, files, name, content):
    """Adds a file as it is, as gzip, as damaged gzip, or as one that becomes large; `None` is no file."""
    random = case.random
    how = random.randrange(6)
    if content is None:
        return
    if how == 0:
        files[f"{name}.gz"] = formats.gzip.compress(content)
    elif how == 1:
        files[f"{name}.gz"] = change_bytes(random, formats.gzip.compress(content))
    elif how == 2:
        # Counts that promise little, and hundreds of megabytes that follow; or counts that promise all of them.
        start = random.choice([content[:16], struct.pack(">IIII", 2051, 350_000, 28, 28)])
        files[f"{name}.gz"] = formats.bomb(random.choice([10, 300]), start)
    else:
        files[name] = content


def arrays(case):
    """NumPy's files: shapes and types that are not those of the values, huge headers, other orders, archives that are damaged."""
    random = case.random
    x = formats.npy("<f4", (40, 3), struct.pack("<120f", *range(120)))
    y = formats.npy("<i8", (40,), struct.pack("<40q", *(row % 3 for row in range(40))))
    huge = random.choice([0, 1, 39, 2**31, 2**62, 2**64])
    values = bytes(480)
    wrong = [
        lambda: change_bytes(random, x), lambda: x[:random.choice([0, 5, 9, 60, 200])], lambda: x + bytes(random.choice([1, 10**7])),
        lambda: formats.npy(random.choice(["<f4", "|u1", "<f8", "|O", ">f4", "<U1", "<c8", ""]), (40, 3), values),
        lambda: formats.npy("<f4", random.choice([(huge, 3), (40, huge), (huge, huge, huge), (), (40,), (40, 1, 3, 1)]), values),
        lambda: formats.npy("<f4", (40, 3), struct.pack("<f", random.choice([float("nan"), float("inf")])) * 120),
        lambda: formats.npy("<f4", (40, 3), values, header=random.choice([b"", b"{", b"{" * 60_000, b"('" * 9, b"\xff" * 90])),
        lambda: formats.npy("|u1", (40, 1, 3, 4), values, fortran=True),
    ]
    x = random.choice([*wrong, lambda: x])()
    y = random.choice([lambda: y, lambda: y, lambda: change_bytes(random, y), lambda: x])()
    if random.random() < 0.5:
        case.write("data/own/x.npy", x)
        case.write("data/own/y.npy", y)
        return manifest(case, 'kind = "arrays"\nx = "../data/own/x.npy"\ny = "../data/own/y.npy"')
    packed = formats.npz({"x": x, "y": y})
    for _ in range(random.choice([0, 0, 1, 3])):
        packed = change_bytes(random, packed)
    case.write("data/own.npz", packed)
    return manifest(case, 'kind = "arrays"\npath = "../data/own.npz"')


def cifar(case):
    """Files of CIFAR: other lengths and classes, missing and damaged ones."""
    random = case.random
    record = lambda label: bytes([label]) + random.randbytes(3072)
    names = [*(f"data_batch_{batch}.bin" for batch in range(1, 6)), "test_batch.bin"]
    files = {name: record(0) + record(9) for name in names}
    files["batches.meta.txt"] = "\n".join("abcdefghij").encode()
    for name in random.sample(sorted(files), random.choice([0, 1, 1, 2])):
        right = files.pop(name)
        content = random.choice([b"", right[:-1], right + b"\0", record(255), change_bytes(random, right), None])
        if content is not None:
            files[name] = content
    for name, content in files.items():
        case.write(f"data/own/{name}", content)
    manifest(case, 'kind = "cifar"\npath = "../data/own"')


def weights(case):
    """Initial weights: lengths of headers, kinds of numbers, shapes, offsets, names, deep JSON."""
    random = case.random
    tensors = formats.perceptron()
    name = random.choice(sorted(tensors))
    kind, shape, content = tensors[name]
    right = {key: {"dtype": kind, "shape": shape, "data_offsets": [0, 4]} for key, (kind, shape, _) in tensors.items()}
    offsets = random.choice([[0, 0], [4, 0], [0, 2**63], [2**64 - 4, 2**64 - 1], [-4, 0], [0.5, 4], [0, 4], [1, 5]])
    right[name]["data_offsets"] = offsets
    whole = formats.safetensors(tensors)
    choices = [
        lambda: whole, lambda: change_bytes(random, whole), lambda: change_bytes(random, change_bytes(random, whole)),
        lambda: formats.safetensors(tensors, length=random.choice([0, 1, 2**31, 2**63, 2**64 - 1, 10**8, len(whole)])),
        lambda: formats.safetensors(tensors, header=json.dumps(right).encode()),
        lambda: formats.safetensors(tensors, header=b"[" * random.choice([100, 10**6])),
        lambda: formats.safetensors(tensors, header=b'{"a":' * random.choice([100, 10**5])),
        lambda: formats.safetensors({**tensors, name: (random.choice([
            "F64", "I64", "BOOL", "F8_E5M2", "U128", "", "F16",
        ]), shape, content)}),
        lambda: formats.safetensors({**tensors, name: (kind, random.choice([
            [], [0], [2**32, 2**32], [-1], [2**63, 2], [1] * 5000,
        ]), content)}),
        lambda: formats.safetensors({**tensors, name: (kind, shape, struct.pack("<f", float("nan")) * (len(content) // 4))}),
        lambda: formats.safetensors({key: value for key, value in tensors.items() if key != name}),
        lambda: formats.safetensors({**tensors, random.choice([
            "\x1b[31m", "ä", "x" * 100_000, "", "a\nb",
        ]): (kind, shape, content)}),
        lambda: formats.safetensors({**tensors, **{f"extra.{index}": ("F32", [1], b"abcd") for index in range(5000)}}),
        lambda: whole + bytes(random.choice([1, 10**6])), lambda: b"", lambda: bytes(7),
        lambda: whole[: random.randrange(len(whole))],
    ]
    case.write("experiments/first.safetensors", random.choice(choices)())
    case.write("experiments/own.csv", table())
    manifest(case, 'kind = "csv"\npath = "own.csv"\ntarget = "y"', train='init-from = "first.safetensors"')


LAYERS = """name = "tiny"
[models.gpt]
kind = "layers"
layers = [{ embedding = 4 }, "position-embedding", { linear = "classes" }]
[train]
epochs = 1
batch-size = 4
steps-per-epoch = 3
[datasets.own]
kind = "text"
path = "PATTERN"
length = LENGTH
tokens = "TOKENS"
"""


def text(case):
    """Text files: no text, one character, many different ones, not UTF-8, control characters."""
    random = case.random
    words = "the quick brown fox\n" * 60
    every = "".join(chr(number) for number in range(0x20, 0x4000))
    contents = [
        words, every, "", "a", "\0" * 3000, "\x1b[31m" * 400, "\u202e" * 900, "a" * 10**6, "🦀" * 2000, "\r\n" * 1000,
        "".join(chr(number) for number in range(0x20)) * 60, "e\u0301" * 900, "\ufeff" + words,
    ]
    content = random.choice(contents).encode()
    if random.random() < 0.4:
        content = change_bytes(random, content)
    for name in random.choice([["one"], ["one", "two"], ["one", "\x1b[2J"]]):
        case.write(f"experiments/{name}.txt", content)
    settings = {"PATTERN": random.choice(["one.txt", "*.txt", "**", "[", "?ne.txt", "none*.txt", "."])}
    settings["LENGTH"] = str(random.choice([1, 8, 8, 8, 64, 1000]))
    settings["TOKENS"] = random.choice(["characters", "bytes"])
    result = LAYERS
    for key, value in settings.items():
        result = result.replace(key, value)
    case.write(MANIFEST, result)


KINDS = [csv, csv, csv, images, images, images, idx, idx, arrays, arrays, cifar, weights, weights, weights, text]


def case(case):
    """Makes one hostile dataset and runs a manifest on it."""
    case.open()
    kind = case.random.choice(KINDS)
    case.note(kind.__name__)
    kind(case)
    results = case.project / "reports/tiny"
    before = properties.tree(case.root, without=[results.parent])
    ended = case.run("run", MANIFEST, *case.random.choice([[], ["--no-report"], ["--verbose"]]), seconds=SECONDS, memory=MEMORY)
    properties.ends_well(ended)
    properties.files_are_plain(results)
    properties.nothing_stays(case)
    properties.is_untouched(before, properties.tree(case.root, without=[results.parent]), case.root)

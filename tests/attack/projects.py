"""Small manifests, and the results of their undisturbed runs, which are made once and copied."""

import os
import shutil
import subprocess
from pathlib import Path

from harness import Violation

REPOSITORY = Path(__file__).resolve().parents[2]
MANIFEST = "experiments/tiny.toml"
FACTS = ("runs.csv", "epochs.csv")

# Two cells, two blocks: four runs of a few steps.
TINY = """name = "tiny"

[models.mlp]
kind = "mlp"
hidden = 8
depth = 2

[datasets.plane]
kind = "regression-5d"
target = "linear"
samples = 64

[matrix]
model = ["mlp"]
dataset = ["plane"]
batch-size = [8, 16]

[train]
epochs = 2

[measure]
repeats = 2
warmup-steps = 1
"""

# Runs of about a tenth of a second, for signals that are to meet them.
SLOW = TINY.replace("samples = 64", "samples = 4000").replace("epochs = 2", "epochs = 20")

PROFILE = TINY.replace("[measure]", "[measure]\nops = true\ntensorboard = true")

# A search with a sampler that learns and a pruner.
SEARCH = """name = "tiny"

[models.mlp]
kind = "mlp"
depth = 1

[datasets.plane]
kind = "regression-5d"
target = "linear"
samples = 64

[train]
model = "mlp"
dataset = "plane"
epochs = 4
batch-size = 16

[measure]
warmup-steps = 1

[search]
trials = 8
lag = 2
seed = 3
objective = "best_loss"
sampler = { kind = "tpe", startup-trials = 4 }
pruner = { kind = "median", startup-trials = 2 }

[search.space]
"models.mlp.hidden" = [2, 4, 8, 16]
"train.optimizer.lr" = { float = [1e-4, 3e-1], log = true }
"""

SLOW_SEARCH = SEARCH.replace("samples = 64", "samples = 4000").replace("epochs = 4", "epochs = 10")

# A narrow U-Net on generated images, which draws samples and keeps its weights.
IMAGES = """name = "tiny"

[models.unet]
kind = "ddpm-unet"
base-channels = 8
embed = 16

[datasets.surfaces]
kind = "image-folder"
path = "../data/surfaces"
size = 8
generate = { kind = "surface-textures", normal = 12, abnormal = 4, size = 8, seed = 7 }

[matrix]
"train.optimizer.lr" = [0.001, 0.002]

[train]
batch-size = 8
ema = { warm-up = true }
save-to = "last"

[validation]
sampling = { samplers = ["ddim"], ddim-steps = 2, per-class = 2 }

[losses.noise]
kind = "noise-mse"
timesteps = 4

[measure]
warmup-steps = 0
"""

# A program that reports epochs and takes its time; its sleeping child is the grandchild of the parent.
COMMAND = """name = "tiny"

[models.mine]
kind = "command"
run = ["sh", "script.sh", "{width}"]
code = ["script.sh"]
parameters = { width = 1 }
metrics = { val_loss = { better = "lower" } }

[matrix]
"models.mine.width" = [1, 2]

[measure]
repeats = 2
"""

SCRIPT = """for epoch in 0 1 2; do
  sleep 0.05
  echo "{\\"event\\": \\"epoch\\", \\"epoch\\": $epoch, \\"val_loss\\": 0.$epoch$1}" >> "$FIELDTRIAL_EVENTS"
done
"""

MANIFESTS = {
    "tiny": TINY,
    "profile": PROFILE,
    "search": SEARCH,
    "images": IMAGES,
    "command": COMMAND,
    "slow": SLOW,
    "slow-search": SLOW_SEARCH,
}


def put(case, name):
    """Writes the files of a small project into the case's."""
    case.write(MANIFEST, MANIFESTS[name])
    if name == "command":
        case.write("experiments/script.sh", SCRIPT)


def finished(case, name, *arguments):
    """The folder of a project with the results of an undisturbed run, shared by all cases."""

    def build(folder):
        folder.joinpath("experiments").mkdir()
        folder.joinpath(MANIFEST).write_text(MANIFESTS[name])
        folder.joinpath("experiments/script.sh").write_text(SCRIPT)
        ended = case.run("run", MANIFEST, *arguments, cwd=folder)
        if ended.code != 0:
            raise Violation("undisturbed", f"the undisturbed run of {name} ended with {ended.code}: {ended.said()}")

    return case.shared("-".join([name, *arguments]).replace("/", "-of-"), build)


def copy(folder, project):
    """Copies a finished project over the case's."""
    shutil.copytree(folder, project, symlinks=True, dirs_exist_ok=True)


def facts(project, results="reports/tiny"):
    """The bytes of the files that a rerun writes again, byte by byte; `None` for one that is absent."""
    found = {}
    for name in FACTS:
        path = project / results / name
        found[name] = path.read_bytes() if path.is_file() else None
    return found


def has_facts(project, expected, when, results="reports/tiny"):
    """The facts are those of the undisturbed run."""
    found = facts(project, results)
    for name in FACTS:
        if found[name] != expected[name]:
            difference = first_difference(expected[name], found[name])
            raise Violation("facts", f"{when}, {name} is another: {difference}")


def first_difference(expected, found):
    """The first line that differs, of both."""
    if expected is None or found is None:
        return "a file is absent"
    pairs = zip(expected.splitlines() + [b"(end)"], found.splitlines() + [b"(end)"])
    lines = next(((one, other) for one, other in pairs if one != other), (b"", b"(more lines)"))
    one, other = lines
    start = next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    start = max(0, start - 20)
    return f"{ascii(one[start:start + 60])} became {ascii(other[start:start + 60])}"


def git(folder, *arguments):
    """Runs git without the user's settings."""
    who = {f"GIT_{role}_{what}": "attack@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z"}
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null", **who, **dates}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)

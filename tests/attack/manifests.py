"""Mutants of every shipped manifest: `plan` shows them, or refuses them at their places, and writes nothing."""

import shutil
import sys

import properties
from harness import Violation
from mutate import change_bytes, change_text
from projects import REPOSITORY

# Refusals that have no place within the manifest: the file itself, or the plan as a whole, cannot be used.
PLACELESS = (
    "is not UTF-8 text", "cannot read", "is too large for a manifest", "the plan is too large", "has no cells",
    "every cell is infeasible", "no cell can run", "the manifest has no", "is chosen",
)


# What the shipped manifests' `requires` run. Here they do nothing: with the words of a mutant, `xz` removes its input.
PROGRAMS = ("bzip2", "gzip", "xz")


def shared_project(folder):
    """What the shipped manifests name, without the manifests: two of one name in a folder would be a warning."""
    (folder / "tmp").mkdir()
    (folder / "programs").mkdir()
    for name in PROGRAMS:
        program = folder / "programs" / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    manifests = shutil.ignore_patterns("*.toml")
    shutil.copytree(REPOSITORY / "experiments", folder / "above/home/project/experiments", ignore=manifests)


def mutant(case):
    """The bytes of a manifest with one to four changes."""
    random = case.random
    path = random.choice(sorted((REPOSITORY / "experiments").glob("*.toml")))
    case.note(f"a mutant of {path.name}")
    text = path.read_text()
    for _ in range(random.choice([1, 1, 1, 2, 3, 4])):
        text = change_text(random, text)
    content = text.encode()
    if random.random() < 0.15:
        for _ in range(random.choice([1, 1, 3, 10])):
            content = change_bytes(random, content)
    return content


def check_places(ended):
    """A refusal names the place of a mistake, unless the file as a whole is refused."""
    said = ended.stderr.decode("utf-8", "replace")
    if ended.code == 2 and not any(reason in said for reason in PLACELESS):
        properties.shows_places(ended)


def check(case, content):
    """Plans a mutant in a folder of all cases: making one for each would take longer than planning."""
    case.root = case.shared("manifests", shared_project)
    case.project = case.root / "above/home/project"
    case.write("experiments/mutant.toml", content)
    explain = case.random.choice([[], [], ["--explain"], ["--format", "csv"], ["--format", "json"]])
    before = properties.tree(case.root)
    path = {"PATH": str(case.root / "programs")}
    ended = case.run("plan", "experiments/mutant.toml", *explain, env=path, seconds=60)
    properties.ends_well(ended, codes=(0, 2))
    check_places(ended)
    properties.is_untouched(before, properties.tree(case.root), case.root)


def case(case):
    """Plans one mutant, and keeps it where a property does not hold."""
    content = mutant(case)
    try:
        check(case, content)
    except Violation:
        shutil.rmtree(case.root)
        raise
    finally:
        if case.options.case is not None or sys.exc_info()[0]:
            case.base.mkdir(exist_ok=True)
            case.base.joinpath("mutant.toml").write_bytes(content)

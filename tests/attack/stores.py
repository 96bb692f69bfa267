"""Damaged results: a rerun ends with the undisturbed facts, or refuses and leaves the files as they are."""

import properties
from damage import damage
from harness import Violation
from projects import MANIFEST, copy, facts, finished, first_difference, has_facts

# Bases with their share. `shards` are two finished journals that are not merged.
BASES = ["tiny"] * 6 + ["search"] * 2 + ["profile"] + ["shards"] * 4 + ["images"]
RESULTS = "reports/tiny"
# What a command says that was not refused: it could not write one of its files.
WAS_RUNNING = b"error: cannot write `"


def base(case, name):
    """Copies finished results into the project, and returns the undisturbed facts."""
    if name != "shards":
        folder = finished(case, name)
        copy(folder, case.project)
        return facts(folder)
    for share in ("1/2", "2/2"):
        copy(finished(case, "tiny", "--shard", share), case.project)
    return facts(finished(case, "tiny"))


def run(case, expected):
    """Runs again; the facts are right afterwards, or the run was refused and nothing has changed."""
    before = important(case)
    ended = case.run("run", MANIFEST, *case.random.choice([[], ["--no-report"], ["--no-report"], ["--jobs", "2"]]), seconds=60)
    properties.ends_well(ended)
    if ended.code == 2 and WAS_RUNNING not in ended.stderr:
        untouched(case, before, expected)
    elif ended.code != 2:
        has_facts(case.project, expected, f"after a run that ended with {ended.code}")


def merge(case, expected):
    """Merges journals: complete facts where nothing is missing, else nothing has changed or rows are left out."""
    before = important(case)
    ended = case.run("merge", MANIFEST, "--no-report", seconds=60)
    properties.ends_well(ended)
    if ended.code == 2:
        untouched(case, before, expected)
    if ended.code == 0:
        has_facts(case.project, expected, "after a merge")


def report(case, _expected):
    """Writes the report again."""
    properties.ends_well(case.run("report", RESULTS, seconds=60), codes=(0, 2))


def compare(case, _expected):
    """Compares with undamaged results, in both directions."""
    sides = [str(finished(case, "tiny") / RESULTS), RESULTS]
    case.random.shuffle(sides)
    out = case.random.choice([[], ["--out", f"{RESULTS}/comparison"]])
    ended = case.run("compare", *sides, *out, "--across-env", seconds=60)
    properties.ends_well(ended, codes=(0, 1, 2, 3, 4))


def status(case, _expected):
    """Shows the state of the shares."""
    properties.ends_well(case.run("status", case.random.choice([MANIFEST, RESULTS]), seconds=60))


def plan(case, _expected):
    """Shows why runs are kept or repeated."""
    properties.ends_well(case.run("plan", MANIFEST, "--explain", seconds=60), codes=(0, 2))


def important(case):
    """The files that a refused command leaves as they were."""
    found = {}
    for name in ("runs.csv", "epochs.csv", "plan.json"):
        path = case.project / RESULTS / name
        found[name] = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    return found


def untouched(case, before, expected):
    """After a refusal, each file is the one of before, or already the right one."""
    after = important(case)
    for name, content in before.items():
        if after[name] not in (content, expected.get(name, content)) and content is not None:
            difference = first_difference(content, after[name])
            raise Violation("refused", f"a command that ended with 2 changed {name}: {difference}")


def case(case):
    """Damages results, uses them, and runs again."""
    case.open()
    random = case.random
    name = random.choice(BASES)
    case.note(f"results of {name}")
    expected = base(case, name)
    results = case.project / RESULTS
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        case.note(damage(random, results))
    case.keep_state()
    # `reports/.store` has the digests of data, for all results.
    own = [results, results.with_name(".store")]
    before = properties.tree(case.root, without=own)
    uses = [report, compare, status, plan] + ([merge] * 3 if name == "shards" else [])
    for use in random.sample(uses, random.choice([0, 0, 1, 2])):
        use(case, expected)
    if name == "shards":
        merge(case, expected)
    run(case, expected)
    properties.is_untouched(before, properties.tree(case.root, without=own), case.root)

"""Damage to a results folder: files changed, lost, swapped, or replaced by what is no file."""

import os
import re
import shutil

from mutate import change_bytes

# Names of a second copy of a file.
COPIES = ["1-of-1.jsonl", "3-of-2.jsonl", "0-of-0.jsonl", "42-7-0000000000000000.json", "x.json", "copy.csv"]
NUMBER = re.compile(rb"\d")
TEXT = re.compile(rb'"((?:[^"\\\n]|\\.)*)"')
# What a string of a stored file is replaced by.
WORDS = [
    b"../../../../outside", b"/tmp/fieldtrial-attack-outside", b"..", b".", b"", b"a/b", b"\\u0000",
    b"\\u001b[31mred", b"NaN", b"done", b"failed", b"x" * 5000, b"\\u202e", b"<script>alert(7)</script>", b"0",
    "ä漢".encode(), b"-", b"--help", b"\\ud800",
]
# Files that are damaged more often.
DECISIVE = ("runs.csv", "plan.json", "epochs.csv", "blocks.csv", "work.csv", "confusion.csv")
# What any value of a stored file is replaced by.
VALUES = [b"null", b"-1", b"1e999", b"18446744073709551616", b"[]", b"{}", b'""', b"true", b"0", b"[" * 3000, b"NaN", b"1e308"]


def files_of(results):
    """Every file of a results folder, in a fixed order; those that decide more often."""
    found = []
    for folder, folders, names in os.walk(results):
        folders.sort()
        for name in sorted(names):
            path = results.__class__(folder) / name
            inner = str(path.relative_to(results))
            decides = inner.startswith((".store/runs", "shards/")) or inner in DECISIVE
            if inner != ".store/lock":
                found += [path] * (5 if decides else 1)
    return found


def pick(random, choices):
    """One of several by a single draw, however many there are: numbers in stored files differ between two machines."""
    return choices[int(random.random() * len(choices))]


def replace_match(random, content, pattern, by):
    """Replaces one match of a pattern in bytes."""
    matches = list(pattern.finditer(content))
    if not matches:
        return change_bytes(random, content)
    match = pick(random, matches)
    return content[: match.start()] + by(match) + content[match.end() :]


def flip_digit(random, path, _results):
    """Another digit somewhere: what a failing disk or an edit makes, and JSON and CSV do not notice."""
    other = lambda match: random.choice([digit for digit in b"0123456789".decode() if digit != match.group().decode()]).encode()
    path.write_bytes(replace_match(random, path.read_bytes(), NUMBER, other))


def flip_byte(random, path, _results):
    """One change that knows no format."""
    path.write_bytes(change_bytes(random, path.read_bytes()))


def change_word(random, path, _results):
    """Another string: an id, a path, a status."""
    path.write_bytes(replace_match(random, path.read_bytes(), TEXT, lambda _: b'"' + random.choice(WORDS) + b'"'))


def change_key_part(random, path, _results):
    """Another id of a run: cell, code, environment, seed, until."""
    names = rb'"(?:cell_hash|code_hash|env_id|numeric_class|key|seed|block|until|digest|name|status)":("(?:[^"\\]|\\.)*"|\d+)'
    value = random.choice([b'"' + random.choice(WORDS) + b'"', *VALUES])
    by = lambda match: match.group()[: match.start(1) - match.start()] + value
    path.write_bytes(replace_match(random, path.read_bytes(), re.compile(names), by))


def change_value(random, path, _results):
    """A value of another type or size."""
    pattern = re.compile(rb"(?<=[:\[,])(?:-?\d[\d.e+-]*|null|true|false|\"[^\"\n]*\")")
    path.write_bytes(replace_match(random, path.read_bytes(), pattern, lambda _: random.choice(VALUES)))


def cut(random, path, _results):
    """The end is lost, or everything."""
    content = path.read_bytes()
    path.write_bytes(content[: random.choice([0, int(random.random() * len(content)), max(0, len(content) - 1)])])


def lose(_random, path, _results):
    """The file is lost."""
    path.unlink()


def lose_folder(_random, path, results):
    """The whole folder of the file is lost."""
    if path.parent != results:
        shutil.rmtree(path.parent)
    else:
        path.unlink()


def swap(random, path, results):
    """Two files of a kind have each other's content."""
    alike = [other for other in regular_files(results) if other.suffix == path.suffix]
    other = pick(random, alike or [path])
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def double(random, path, _results):
    """The file is there again under another name, or its lines are there twice."""
    if random.random() < 0.5:
        shutil.copyfile(path, path.with_name(random.choice(COPIES)))
    else:
        lines = path.read_bytes().splitlines(keepends=True) or [b""]
        at = int(random.random() * len(lines))
        path.write_bytes(b"".join(lines[:at] + [lines[at]] * random.choice([2, 50]) + lines[at + 1 :]))


def shuffle(random, path, _results):
    """Its lines in another order."""
    lines = path.read_bytes().splitlines(keepends=True)
    random.shuffle(lines)
    path.write_bytes(b"".join(lines))


def make_folder(_random, path, _results):
    """A folder has its name."""
    path.unlink()
    path.mkdir()


def make_pipe(_random, path, _results):
    """A pipe has its name, from which nobody reads."""
    path.unlink()
    os.mkfifo(path)


def make_link(random, path, results):
    """A link has its name: to nothing, to itself, to a file outside, to a device, to its own former content."""
    outside = results.parents[2] / "outside.txt"
    content = path.read_bytes()
    outside.write_bytes(content)
    path.unlink()
    targets = [outside, outside, "/nonexistent/file", path.name, "/dev/null", "/dev/zero", "/proc/self/mem", "."]
    path.symlink_to(random.choice(targets))


DAMAGES = [
    flip_digit, flip_digit, flip_digit, flip_byte, flip_byte, change_word, change_word, change_key_part,
    change_key_part, change_value, cut, lose, lose_folder, swap, double, shuffle, make_folder, make_pipe, make_link,
]


def regular_files(results):
    """The files of `files_of` that have not been replaced by a link, a pipe or a folder."""
    return [path for path in files_of(results) if path.is_file() and not path.is_symlink()]


def damage(random, results):
    """Damages one file, and returns what was done to which, in words."""
    files = regular_files(results)
    if not files:
        return "nothing is left to damage"
    path = pick(random, files)
    how = random.choice(DAMAGES)
    how(random, path, results)
    return f"{how.__name__} {path.relative_to(results)}"

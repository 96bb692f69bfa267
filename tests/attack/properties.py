"""The properties that attacks check: how a program may end, what it may print, and what it may write."""

import csv
import os
import re
import stat
import time

from harness import MARKER, Violation, processes

# What a panic, a failed assertion or an overflow of the stack leaves in an output.
PANIC = re.compile(r"panicked at|bug in fieldtrial|unreachable code|has overflowed its stack")
# A place of a mistake, as diagnostics draw it.
PLACE = re.compile(r"^ *(?:-->|:::) .+:\d+:\d+$", re.MULTILINE)
# The C0 and C1 control characters except tab and newline, which do nothing to a terminal.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Most bytes that one case of hostile input may have in memory at a time.
MEMORY = 3 << 30
# Seconds in which processes have to go after their parent.
GONE = 60


def ends_well(ended, codes=(0, 1, 2), memory=MEMORY):
    """It ended by itself with a documented exit code, in bounded memory, without a panic or control characters."""
    if ended.timed_out:
        raise Violation("hang", f"it had not ended after {ended.seconds:.0f} s")
    if PANIC.search(ended.text()):
        raise Violation("panic", panic_line(ended.text()))
    if ended.code < 0:
        raise Violation("signal", f"it ended by signal {-ended.code}: {ended.said()}")
    if ended.code not in codes:
        raise Violation("exit-code", f"it ended with {ended.code}: {ended.said()}")
    if ended.peak_bytes > memory:
        raise Violation("memory", f"it had {ended.peak_bytes / 2**30:.1f} GiB in memory")
    prints_plain_text(ended)
    if ended.code == 2 and not ended.stderr.strip():
        raise Violation("silence", "it ended with 2 and said nothing")


def panic_line(text):
    """The line of a panic, and the one after it."""
    start = PANIC.search(text).start()
    lines = text[text.rfind("\n", 0, start) + 1 :].splitlines()
    return ascii(" | ".join(lines[:2])[:300])


def prints_plain_text(ended):
    """Both outputs are UTF-8 without control characters."""
    for name, output in (("stdout", ended.stdout), ("stderr", ended.stderr)):
        is_plain(output, f"its {name}")


def is_plain(content, where):
    """Bytes are UTF-8 without control characters other than tab and newline."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        # An output may be cut within a character.
        if error.start < len(content) - 3:
            raise Violation("text", f"{where} is not UTF-8 at byte {error.start}") from None
        text = content[: error.start].decode()
    found = CONTROL.search(text)
    if found:
        around = ascii(text[max(0, found.start() - 40) : found.end() + 20])
        raise Violation("control", f"{where} has the character {ascii(found.group())}: {around}")


def shows_places(ended, most=100):
    """A refusal has the file, line and column of a mistake, and draws a bounded number of them."""
    text = ended.stderr.decode("utf-8", "replace")
    if not PLACE.search(text):
        raise Violation("place", f"a refusal without file, line and column: {ended.said()}")
    drawn = sum(line.startswith("error") for line in text.splitlines())
    if drawn > most + 2:
        raise Violation("flood", f"{drawn} mistakes were drawn")


def tree(folder, without=()):
    """Every path below a folder with what tells that it was written: kind, size, time and target of a link."""
    found = {}
    level = [folder]
    while level:
        for entry in os.scandir(level.pop()):
            path = entry.path
            if any(path == str(left) or path.startswith(f"{left}/") for left in without):
                continue
            data = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(data.st_mode):
                found[path] = "folder"
                level.append(path)
            else:
                target = os.readlink(path) if stat.S_ISLNK(data.st_mode) else ""
                found[path] = (stat.S_IFMT(data.st_mode), data.st_size, data.st_mtime_ns, target)
    return found


def is_untouched(before, after, root):
    """Nothing was made, changed or removed between two `tree`s."""
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            what = "removed" if path not in after else "changed" if path in before else "made"
            raise Violation("outside", f"{ascii(os.path.relpath(path, root))} was {what}")


def nothing_stays(case):
    """Every process of the case ends, sooner or later."""
    until = time.monotonic() + GONE
    while left := processes(case.marker):
        if time.monotonic() > until:
            names = [ascii(open(f"/proc/{pid}/cmdline").read()) for pid in left if os.path.exists(f"/proc/{pid}")]
            raise Violation("process", f"{len(left)} processes stay ({MARKER}): {names[:3]}")
        time.sleep(0.01)


def files_are_plain(results):
    """Results files are UTF-8 without control characters; every row of a CSV file has as many fields as its header."""
    for path in sorted(results.glob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        if path.suffix in (".csv", ".md", ".html", ".toml", ".json"):
            is_plain(path.read_bytes(), path.name)
        if path.suffix == ".csv":
            is_table(path)


def is_table(path):
    """A CSV file that Python reads, with as many fields in every row."""
    csv.field_size_limit(1 << 30)
    with open(path, newline="", encoding="utf-8") as file:
        try:
            rows = list(csv.reader(file, strict=True))
        except (csv.Error, UnicodeDecodeError) as error:
            raise Violation("csv", f"{path.name} cannot be read: {error}") from None
    if any(len(row) != len(rows[0]) for row in rows):
        raise Violation("csv", f"{path.name} has rows of several lengths")

"""Programs that report garbage: their runs have a status and a reason, the program itself goes on."""

import json
import os

import properties
from harness import OUTPUT, Violation
from projects import MANIFEST

HEAD = """name = "tiny"

[models.mine]
kind = "command"
run = ["sh", "script.sh"]
code = ["script.sh"]
metrics = { val_loss = { better = "lower" }, speed = { better = "higher", time = true } }
SCRAPE
[limits]
time = 4
grace = 0.2

[measure]
repeats = 2
"""

SCRAPES = [
    "", "", "", "[models.mine.scrape]\nval_loss = 'loss ([^ ]*)'\nspeed = 'speed (.*)'\n",
    "[models.mine.scrape]\nval_loss = '(a*)*b ?(\\\\S*)'\n",
]
NUMBERS = [
    "0", "1", "-1", "0.5", "NaN", "Infinity", "-Infinity", "1e999", "-1e308", "1e-320", "9" * 400,
    "18446744073709551616", "-9223372036854775809", "null", "true", '"1"', '"\\u001b[31m"', "[]", "{}", "[1]",
    '{"a": 1}', "01", "1.", ".5", "+1", "0x1", "1_0", '""', '"' + "x" * 100_000 + '"',
]
NAMES = [
    "val_loss", "val_loss", "speed", "train_loss", "epoch", "step", "loss", "lr", "epochs", "steps_per_epoch",
    "parameters", "steps", "samples", "metrics", "message", "event", "val_los", "\\u001b[31m", "", "ä", "x" * 5000,
    "key", "a,b", "=1+1", "a\\nb", "__proto__",
]
KINDS = [
    "started", "progress", "epoch", "epoch", "epoch", "finished", "finished", "warning", "epok", "", "\\u001b[2J",
    "x" * 5000, "EPOCH",
]
MESSAGES = [
    "hello", "\\u001b[31mred", "\\u0000", "\\u202e", "a\\nb\\r\\tc", "x" * 200_000, "<script>alert(7)</script>",
    "=1+1", "\\ud800", "\\u009b31m", "|`*",
]


def event(random):
    """One line: an event that is right, nearly right, or nothing of that sort."""
    kind = random.randrange(14)
    if kind == 0:
        return random.choice([
            b"", b"hello", b"null", b"[]", b"1", b'"x"', b"{", b"}", b"{}", b"\0", b"\x1b[31mred", b"\xff\xfe", b"\r",
            b" ", b'{"event"}', b"# x", b"nan", b"{'event': 'epoch'}", b"=1+1", "ä漢🦀".encode(), b"\xef\xbb\xbf{}",
            b'{"event": "epoch"} {"event": "epoch"}', b'{"event": "epoch",}', b'"', b"\\",
        ])
    if kind == 1:
        depth = random.choice([100, 128, 5000, 300_000])
        within = b'{"event": "epoch", "val_loss": ' + b"[" * depth + b"]" * depth + b"}"
        return random.choice([b"[" * depth, b'{"a":' * depth, within])
    if kind == 2:
        return random.choice([
            b"x", b'{"event": "warning", "message": "', b" ", b"\0",
        ]) * random.choice([1000, 100_000, 3_000_000])
    if kind == 3:
        return f'{{"event": "warning", "message": "{random.choice(MESSAGES)}"}}'.encode()
    if kind in (4, 5, 6):
        return json.dumps({"event": "epoch", "val_loss": random.random(), "speed": 5}).encode()
    pairs = [f'"event": "{random.choice(KINDS)}"'] if kind < 13 else [f'"event": {random.choice(NUMBERS)}']
    pairs += [f'"{random.choice(NAMES)}": {random.choice(NUMBERS)}' for _ in range(random.choice([0, 1, 1, 2, 4]))]
    return ("{" + ", ".join(pairs) + "}").encode()


def payload(random):
    """Lines of events, one or many."""
    number = random.choice([0, 1, 1, 2, 3, 5, 20])
    lines = [event(random) for _ in range(number)]
    if random.random() < 0.1:
        lines += [event(random)] * random.choice([1000, 50_000] if len(lines) < 5 else [100])
        lines = lines[: 10**7 // (max(map(len, lines)) + 1) + 1]
    if random.random() < 0.6:
        lines.append(b'{"event": "finished", "val_loss": 0.5, "speed": 3}')
    return random.choice([b"\n", b"\n", b"\n", b"\r\n"]).join(lines) + random.choice([b"\n", b"\n", b""])


# What the script does with the payload; each may end as it likes.
DEEDS = [
    'cat payload >> "$FIELDTRIAL_EVENTS"', 'cat payload >> "$FIELDTRIAL_EVENTS"',
    'cat payload >> "$FIELDTRIAL_EVENTS"',
    'cat payload > "$FIELDTRIAL_EVENTS"; : > "$FIELDTRIAL_EVENTS"; cat payload >> "$FIELDTRIAL_EVENTS"',
    "cat payload", "cat payload >&2",
    'head -c 20 payload >> "$FIELDTRIAL_EVENTS"; sleep 0.1; tail -c +21 payload >> "$FIELDTRIAL_EVENTS"',
    'rm "$FIELDTRIAL_EVENTS"', 'rm "$FIELDTRIAL_EVENTS"; mkdir "$FIELDTRIAL_EVENTS"',
    'rm "$FIELDTRIAL_EVENTS"; mkfifo "$FIELDTRIAL_EVENTS"', 'ln -sf /dev/zero "$FIELDTRIAL_EVENTS"',
    'ln -sf /dev/null "$FIELDTRIAL_EVENTS"', 'chmod 0 "$FIELDTRIAL_EVENTS"; cat payload >> "$FIELDTRIAL_EVENTS"',
    'rm -rf "$(dirname "$FIELDTRIAL_EVENTS")"', 'rm "$FIELDTRIAL_ORDER"',
    'truncate -s 300000000 "$FIELDTRIAL_EVENTS"',
    'head -c 30000000 /dev/zero | tr "\\0" "\\n" >> "$FIELDTRIAL_EVENTS"', "head -c 60000000 /dev/zero",
    "yes loss 1 | head -n 500000",
    'yes \'{"event": "epoch", "val_loss": 1}\' | head -n 100000 >> "$FIELDTRIAL_EVENTS"',
    'yes >> "$FIELDTRIAL_EVENTS"', "kill -9 $$", "kill -STOP $$", "exec >&- 2>&-", "sleep 1000 & setsid sleep 1000 &",
    "exit 255", "printf 'loss \\033[31m\\nspeed 1\\n'", "printf 'loss nan\\nspeed -1e999\\n'",
    "(trap '' TERM; sleep 1000) &", "trap '' TERM INT; sleep 1000", "ulimit -n 3; cat payload",
    "printf 'loss 1\\r\\nloss 2\\0loss 3\\n'",
]


def case(case):
    """Runs a program that misbehaves, twice by its repeats."""
    case.open()
    random = case.random
    case.write("experiments/payload", payload(random))
    deeds = [random.choice(DEEDS) for _ in range(random.choice([1, 1, 1, 2]))]
    case.note("; ".join(deeds))
    case.write("experiments/script.sh", "\n".join([*deeds, random.choice(["", "", "exit 3", "kill -SEGV $$"])]) + "\n")
    case.write(MANIFEST, HEAD.replace("SCRAPE", random.choice(SCRAPES)))
    results = case.project / "reports/tiny"
    before = properties.tree(case.root, without=[results.parent])
    format = random.choice([[], [], ["--format", "json"], ["--verbose"]])
    ended = case.run("run", MANIFEST, *random.choice([[], ["--no-report"]]), *format, seconds=120)
    properties.ends_well(ended, codes=(0, 1, 2))
    healthy(ended, results)
    properties.nothing_stays(case)
    properties.files_are_plain(results)
    properties.is_untouched(before, properties.tree(case.root, without=[results.parent]), case.root)
    json_lines(ended, format)


def healthy(ended, results):
    """Both repeats have a row of times; a refusal would be one of the manifest, which is right."""
    if ended.code == 2:
        raise Violation("refused", f"a run's program made the program give up: {ended.said()}")
    rows = (results / "blocks.csv").read_text().count("\n") - 1 if os.path.exists(results / "blocks.csv") else 0
    if rows < 2:
        raise Violation("rows", f"{rows} of 2 runs have a row in blocks.csv")


def json_lines(ended, format):
    """With `--format json`, every line of standard output is JSON; of a very long output the end was not read."""
    if format == ["--format", "json"] and len(ended.stdout) < OUTPUT:
        for line in ended.stdout.splitlines():
            try:
                json.loads(line)
            except ValueError:
                raise Violation("json", f"a line of standard output is no JSON: {ascii(line[:200])}") from None

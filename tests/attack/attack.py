"""Attacks the program until the minutes are over: `just attack [--minutes N] [--seed S]`.

Cases are drawn from a seed: `--seed S --only ATTACK --case K` repeats exactly one, shows what it does, and keeps its
folder. What depends on time (moments of signals, times in stored files) is as near as it can be: the folder of a
violation is kept with the state before its commands (`before`) and what was done (`notes`). The exit code is 1 where
a property did not hold.
"""

import argparse
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import data
import events
import kills
import limits
import manifests
import names
import stores
import templates
from harness import Case, Skipped, Violation

# Folders of violations that are kept, of each attack.
KEPT = 20

# Each attack with its share of the time. With these, 30 minutes on two idle cores are more than 10,000 mutants, 1,000
# damaged stores and 200 kills.
ATTACKS = {
    "manifests": (manifests.case, 9),
    "stores": (stores.case, 7),
    "kills": (kills.case, 5),
    "limits": (limits.case, 2),
    "data": (data.case, 3),
    "templates": (templates.case, 2),
    "names": (names.case, 2),
    "events": (events.case, 2),
}


class Tally:
    """What the cases of one attack have shown so far."""

    def __init__(self):
        self.cases = 0
        self.signals = 0
        self.seconds = 0.0
        self.skipped = Counter()
        self.violations = []


def main():
    """Runs the attacks and prints what they found."""
    options = read_options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    workspace = Path(tempfile.mkdtemp(prefix="fieldtrial-attack-"))
    tallies = {name: Tally() for name in options.only}
    print(f"seed {options.seed}, program {options.program}, in {workspace}", flush=True)
    try:
        if options.case is None:
            round_robin(options, workspace, tallies)
        else:
            one_case(options, options.only[0], options.case, workspace, tallies)
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        shutil.rmtree(workspace / "shared", ignore_errors=True)
        if not any(workspace.iterdir()):
            workspace.rmdir()
    summary(tallies)
    return 1 if any(tally.violations for tally in tallies.values()) else 0


def read_options():
    """The arguments, checked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    parser.add_argument("--seed", type=int, help="seed of the cases; without it, another one each time")
    parser.add_argument("--only", help="attacks, separated by commas: " + ", ".join(ATTACKS))
    parser.add_argument("--case", type=int, help="run this one case of one attack")
    parser.add_argument("--program", default="target/release/fieldtrial", help="the program to attack")
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else list(ATTACKS)
    unknown = [name for name in options.only if name not in ATTACKS]
    if unknown:
        parser.error(f"there is no attack {unknown[0]!r}; there are {', '.join(ATTACKS)}")
    if options.case is not None and (len(options.only) != 1 or options.seed is None):
        parser.error("--case needs --seed and one attack: --seed S --only ATTACK --case K")
    if options.seed is None:
        options.seed = secrets.randbelow(10**9)
    options.program = os.path.abspath(options.program)
    if not os.access(options.program, os.X_OK):
        parser.error(f"there is no program {options.program}; `cargo build --release` makes it")
    return options


def round_robin(options, workspace, tallies):
    """Runs a case of the attack that is furthest behind its share of the time, until the time is over."""
    until = time.monotonic() + options.minutes * 60
    while time.monotonic() < until:
        name = min(tallies, key=lambda name: tallies[name].seconds / ATTACKS[name][1])
        one_case(options, name, tallies[name].cases, workspace, tallies)


def one_case(options, name, number, workspace, tallies):
    """Runs one case and counts it."""
    case = Case(options, name, number, workspace)
    tally = tallies[name]
    began = time.monotonic()
    try:
        ATTACKS[name][0](case)
    except Violation as violation:
        tally.violations.append((violation, number))
        case.is_kept = case.is_kept or len(tally.violations) <= KEPT
        tell(options, case, violation)
    except Skipped as reason:
        tally.skipped[str(reason)] += 1
    except Exception:
        # A mistake of the suite ends neither the other cases nor unnoticed.
        violation = Violation("suite", traceback.format_exc())
        tally.violations.append((violation, number))
        tell(options, case, violation)
    finally:
        case.close()
    if options.case is not None:
        print("\n".join([*case.notes, f"its folder: {case.base}"]))
    tally.cases += 1
    tally.signals += case.signals
    tally.seconds += time.monotonic() - began


def tell(options, case, violation):
    """Prints a violation with the command that repeats it, and keeps what the case did in a file."""
    print(f"VIOLATION {case.attack}: {violation}")
    kept = f", in {case.base}" if case.is_kept else ""
    print(f"  just attack --seed {options.seed} --only {case.attack} --case {case.number}{kept}", flush=True)
    case.base.mkdir(exist_ok=True)
    case.base.joinpath("notes").write_text("\n".join(case.notes) + "\n")


def summary(tallies):
    """Prints the counts of each attack, and its violations by what they have in common."""
    print(f"\n{'attack':<10} {'cases':>7} {'skipped':>8} {'seconds':>8} {'a minute':>9} {'violations':>11}")
    for name, tally in tallies.items():
        rate = tally.cases / tally.seconds * 60 if tally.seconds else 0.0
        skipped = sum(tally.skipped.values())
        print(f"{name:<10} {tally.cases:>7} {skipped:>8} {tally.seconds:>8.0f} {rate:>9.0f} {len(tally.violations):>11}")
        if tally.signals:
            print(f"{'':<10} {tally.signals:>7} signals met a process")
    for name, tally in tallies.items():
        for reason, count in tally.skipped.most_common():
            print(f"skipped    {name}, {count} times: {reason}")
    for name, tally in tallies.items():
        groups = {}
        for violation, number in tally.violations:
            groups.setdefault(pattern(violation), []).append((violation, number))
        for found in sorted(groups.values(), key=len, reverse=True):
            print(f"{len(found):>5} × {name}, first case {found[0][1]}: {str(found[0][0])[:300]}")


def pattern(violation):
    """A violation without its numbers and names, so that those of one cause are alike."""
    sentence = re.sub(r"`[^`]*`|[0-9a-f]{8,}|[\d.]+", "#", violation.sentence)
    return violation.kind, sentence[:70]


if __name__ == "__main__":
    sys.exit(main())

"""Signals at random moments to the program, its workers and their programs: the next start finishes as if undisturbed."""

import signal
import time
from pathlib import Path

import properties
from harness import Violation, descendants, kill
from projects import MANIFEST, MANIFESTS, SCRIPT, SLOW, copy, facts, finished, git, has_facts, put

SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT, "STOP": signal.SIGSTOP}
ENDS = (0, 1, 2, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT)
AB = ("ab", "HEAD~1", MANIFEST, "--repeats", "2")
WIDER = SLOW.replace("hidden = 8", "hidden = 12")

# What is disturbed: name of the project, arguments of the run, and where its facts are.
RUNS = [
    ("slow", ("run", MANIFEST, "--no-report"), 3), ("slow", ("run", MANIFEST), 1),
    ("slow", ("run", MANIFEST, "--no-report", "--jobs", "2"), 3),
    ("slow-search", ("run", MANIFEST, "--no-report", "--jobs", "2"), 3),
    ("slow", ("run", MANIFEST, "--shard", "1/2"), 2), ("command", ("run", MANIFEST, "--no-report"), 3),
    ("command", ("run", MANIFEST, "--no-report", "--jobs", "2"), 2), ("ab", AB, 1),
]


def repository(folder):
    """A repository with two states of a manifest."""
    path = folder / MANIFEST
    path.parent.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for text in (SLOW, WIDER):
        path.write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "state")


def undisturbed(case, name, arguments):
    """The folder of an undisturbed run, and how long it took."""

    def build(folder):
        if name == "ab":
            repository(folder)
        else:
            folder.joinpath("experiments").mkdir()
            folder.joinpath(MANIFEST).write_text(MANIFESTS[name])
            folder.joinpath("experiments/script.sh").write_text(SCRIPT)
        times = []
        for more in ((), ("--fresh",)):
            ended = case.run(*arguments, *more, cwd=folder)
            if ended.code != 0:
                raise Violation("undisturbed", f"{arguments} ended with {ended.code}: {ended.said()}")
            times.append(ended.seconds)
        folder.joinpath("seconds").write_text(str(min(times)))

    key = "-".join(["kills", name, *arguments[2:]]).replace("/", "-")
    folder = case.shared(key, build)
    return folder, float(folder.joinpath("seconds").read_text())


def disturb(case, arguments, seconds, grandchildren, earlier):
    """Starts the program, sends one signal at a random moment, and waits for its end, which it returns.

    `earlier` are the exit codes of the disturbed runs before: what has failed there stays a failure.
    """
    random = case.random
    moment = 0.9 * seconds * random.random() ** 1.5
    name = random.choice(["KILL", "KILL", "TERM", "INT", "STOP"])
    whom = random.choice(["parent", "parent", "worker", "worker", "group", *(["below"] * 3 if grandchildren else [])])
    held = random.choice([0.01, 0.1, 0.4])
    case.note(f"after {moment:.3f} s, {name} to {whom}")
    running = case.start(*arguments)
    time.sleep(moment)
    case.signals += send(running, whom, name, held, random)
    ended = running.wait(180)
    case.note(f"  exit code {ended.code} after {ended.seconds:.2f} s: {ended.said()}")
    check_end(ended, whom, name, earlier)
    properties.nothing_stays(case)
    return ended.code


def send(running, whom, name, held, random):
    """Sends a signal to the program, a worker, a process below a worker, or its group; a stopped one goes on again.

    Returns how many signals have met a process.
    """
    number = SIGNALS[name]
    if whom == "group":
        if running.poll():
            return 0
        running.signal_session(number)
        if name == "STOP":
            time.sleep(held)
            running.signal_session(signal.SIGCONT)
        return 1
    chosen = targets(running, whom)[: random.choice([1, 1, 2])]
    for pid in chosen:
        kill(pid, number)
        if name == "STOP":
            time.sleep(held)
            kill(pid, signal.SIGCONT)
    return len(chosen)


def targets(running, whom):
    """The processes to send a signal to, as soon as there are some; none where the program ends before."""
    while not running.poll():
        workers = [pid for pid, _ in descendants(running.pid) if is_worker(pid)]
        below = [pid for worker in workers for pid, _ in descendants(worker)]
        chosen = {"parent": [running.pid], "worker": workers, "below": below}[whom]
        if chosen:
            return chosen
        time.sleep(0.002)
    return []


def is_worker(pid):
    """Whether a process is a worker, and not git or one that looks for GPUs."""
    try:
        return b"\0worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def check_end(ended, whom, name, earlier):
    """The exit code says what happened."""
    if ended.timed_out:
        raise Violation("hang", f"after {name} to {whom}, it had not ended after {ended.seconds:.0f} s")
    codes = ENDS if whom in ("parent", "group") else (0, 1)
    if name == "STOP":
        codes = (0, 1) if earlier else (0,)
    # A signal that the program does not handle yet ends it; afterwards it says so by its exit code.
    if ended.code not in codes:
        raise Violation("exit-code", f"after {name} to {whom}, it ended with {ended.code}: {ended.said()}")
    if whom == "parent" and name != "KILL" and ended.code == -signal.SIGKILL:
        raise Violation("exit-code", f"after {name} to {whom}, it ended by SIGKILL")
    if properties.PANIC.search(ended.text()):
        raise Violation("panic", properties.panic_line(ended.text()))


def finish(case, arguments):
    """Runs to the end: what has failed is repeated, what is finished is kept."""
    retry = () if arguments[0] == "ab" else ("--retry",)
    ended = case.run(*arguments, *retry, seconds=180)
    if arguments[0] == "ab" and ended.code == 1:
        # A killed run of a side stays a failure of its pair; all pairs anew.
        ended = case.run(*arguments, "--fresh", seconds=180)
    properties.ends_well(ended, codes=(0,))


def case(case):
    """Disturbs a run one to three times, then finishes it and holds its facts against the undisturbed ones."""
    case.open()
    random = case.random
    name, arguments, _ = random.choices(RUNS, weights=[share for _, _, share in RUNS])[0]
    folder, seconds = undisturbed(case, name, arguments)
    if name == "ab":
        repository(remade(case))
    else:
        put(case, name)
    codes = []
    for _ in range(random.choice([1, 2, 2, 3])):
        # What is finished would only be read; `--fresh` runs it again, over the earlier results.
        fresh = ("--fresh",) if codes and codes[-1] == 0 else ()
        codes.append(disturb(case, (*arguments, *fresh), seconds, name == "command", codes))
    finish(case, arguments)
    if "--shard" in arguments:
        copy(finished(case, name, "--shard", "2/2"), case.project)
        properties.ends_well(case.run("merge", MANIFEST, "--no-report"), codes=(0,))
        has_facts(case.project, facts(finished(case, name)), "after kills and a merge")
    elif name == "ab":
        for side in ("before", "after"):
            place = f"reports/tiny/ab/{side}"
            has_facts(case.project, facts(folder, place), f"after kills, on the side {side}", place)
    else:
        has_facts(case.project, facts(folder), "after kills")
    nothing_temporary(case)


def remade(case):
    """The project's folder without the one for manifests, which the repository makes."""
    case.project.joinpath("experiments").rmdir()
    return case.project


def nothing_temporary(case):
    """No temporary file is left among the results."""
    left = [path for path in case.project.joinpath("reports").rglob(".tmp*")]
    left += [path for path in case.project.joinpath("reports").rglob(".store/tmp/*")]
    if left:
        raise Violation("temporary", f"{len(left)} temporary files are left, among them {ascii(left[0].name)}")

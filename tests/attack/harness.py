"""One case of an attack: its folder, its random numbers, and the program run in it under limits."""

import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

GIGABYTE = 1 << 30
# Environment variable that every process of a case inherits; `processes` finds them by it.
MARKER = "FIELDTRIAL_ATTACK"
# Seconds without any computing by a process and those below it, after which it counts as hanging.
IDLE = 20
# Bytes of an output that are read.
OUTPUT = 8 << 20
# Bytes of a file that the program may write: an endless output must not fill the disk.
FILE = 2 * GIGABYTE


class Violation(Exception):
    """A property that does not hold: its kind (a word), and a sentence."""

    def __init__(self, kind, sentence):
        super().__init__(f"{kind}: {sentence}")
        self.kind = kind
        self.sentence = sentence


class Skipped(Exception):
    """A case that this machine or user cannot do, with the reason."""


@dataclass
class Ended:
    """How a process ended; `code` is negative for a signal, as in `subprocess`."""

    command: list
    code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    peak_bytes: int
    timed_out: bool

    def text(self):
        """Both outputs; what is no UTF-8 is replaced."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")

    def said(self):
        """The last lines of standard error, shown safely."""
        return ascii(self.stderr.decode("utf-8", "replace")[-400:])


class Running:
    """A process that has been started in a session of its own, with its outputs in files."""

    def __init__(self, command, outputs, **options):
        self.command = command
        self.files = [tempfile.TemporaryFile(dir=outputs) for _ in range(2)]
        self.began = time.monotonic()
        options.setdefault("stdout", self.files[0])
        options.setdefault("stderr", self.files[1])
        self.process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, **options)
        self.pid = self.process.pid
        self.usage = None

    def poll(self):
        """Whether it has ended."""
        if self.usage is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.usage = usage
                self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.usage is not None

    def wait(self, seconds):
        """Waits for its end; after that time, or when it only waits itself, it is killed with all of its session."""
        pause = 0.001
        timed_out = False
        worked, last = 0, time.monotonic()
        while not self.poll():
            now = time.monotonic()
            if now - last > IDLE / 2 and (work := computed(self.pid)) != worked:
                worked, last = work, now
            if not timed_out and (now - self.began > seconds or now - last > IDLE):
                timed_out = True
                self.signal_session(signal.SIGKILL)
            time.sleep(pause)
            pause = min(pause * 1.3, 0.02)
        took = time.monotonic() - self.began
        outputs = [self._read(file) for file in self.files]
        peak = self.usage.ru_maxrss * 1024
        return Ended(self.command, self.process.returncode, *outputs, took, peak, timed_out)

    def signal(self, number):
        """Sends it a signal, if it has not ended."""
        if not self.poll():
            os.kill(self.pid, number)

    def signal_session(self, number):
        """Sends a signal to its process group, as a terminal does."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    @staticmethod
    def _read(file):
        file.seek(0)
        content = file.read(OUTPUT)
        file.close()
        return content


class Case:
    """A numbered case of an attack. Its random numbers depend on seed, attack and number alone.

    The program runs in `project`, some folders below `root`, so that a path such as `../../x` leads to a place that is
    watched.
    """

    def __init__(self, options, attack, number, workspace):
        self.options = options
        self.attack = attack
        self.number = number
        self.workspace = workspace
        self.random = random.Random(f"{options.seed}/{attack}/{number}")
        self.marker = f"{os.getpid()}-{attack}-{number}"
        self.base = workspace / f"{attack}-{number}"
        self.root = self.base / "root"
        self.project = self.root / "above" / "home" / "project"
        # Outputs are files without a name.
        self.outputs = workspace
        self.notes = []
        self.is_kept = options.case is not None
        # Signals that have met a process.
        self.signals = 0

    def open(self):
        """Makes the folders."""
        for folder in (self.project / "experiments", self.root / "tmp"):
            folder.mkdir(parents=True)

    def close(self):
        """Ends processes that are left, and removes the folders unless they are to be kept."""
        for pid in processes(self.marker):
            kill(pid, signal.SIGKILL)
        if not self.is_kept:
            shutil.rmtree(self.base, ignore_errors=True)

    def note(self, sentence):
        """Keeps a sentence about what this case does, for a case that is repeated."""
        self.notes.append(sentence)

    def keep_state(self):
        """Keeps a copy of the project as the commands will find it, for a look at a violation."""
        subprocess.run(["cp", "-a", self.project, self.base / "before"], check=True)

    def write(self, path, content):
        """Writes text or bytes to a file of the project."""
        path = self.project / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    def shared(self, name, build):
        """A folder that all cases of a run share; `build(folder)` fills it at the first use."""
        folder = self.workspace / "shared" / name
        if not folder.exists():
            part = folder.with_name(f"{name}.part")
            part.mkdir(parents=True)
            build(part)
            part.rename(folder)
        return folder

    def environment(self, more=None):
        """The environment of the program: nothing of the user's, and the marker."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.root / "above" / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "FIELDTRIAL_CACHE": str(self.base / "cache"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            MARKER: self.marker,
            **(more or {}),
        }

    def start(self, *arguments, env=None, cwd=None, memory=8 * GIGABYTE, limits=(), before=(), **options):
        """Starts the program. `limits` are pairs of a resource and its value, `before` is a command that starts it."""
        limits = [(resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, FILE), (resource.RLIMIT_CORE, 0), *limits]

        def limit():
            for which, value in limits:
                resource.setrlimit(which, (value, value))

        command = [*before, self.options.program, *arguments]
        self.note(f"$ {' '.join(ascii(str(word)) for word in command[len(before):])}")
        options.setdefault("env", self.environment(env))
        return Running(command, self.outputs, cwd=cwd or self.project, preexec_fn=limit, **options)

    def run(self, *arguments, seconds=120, **options):
        """Runs the program to its end."""
        ended = self.start(*arguments, **options).wait(seconds)
        self.note(f"  exit code {ended.code} after {ended.seconds:.2f} s: {ended.said()}")
        return ended


def processes(marker):
    """IDs of the processes with this marker in their environment. Zombies have none."""
    wanted = f"{MARKER}={marker}\0".encode()
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                if wanted in Path("/proc", entry, "environ").read_bytes():
                    found.append(int(entry))
            except OSError:
                pass
    return found


def children(pid):
    """IDs of the children that any thread of a process has started, from `/proc`."""
    found = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            found += [int(child) for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
        except OSError:
            pass
    return found


def descendants(pid):
    """IDs of all processes below a process, each with its depth (children have 1)."""
    found = []
    level = [(pid, 0)]
    while level:
        pid, depth = level.pop()
        below = [(child, depth + 1) for child in children(pid)]
        found += below
        level += below
    return found


def computed(pid):
    """What a process and all below it have computed so far; for one that wants to compute, something else each time."""
    total = 0
    for pid in [pid, *(below for below, _ in descendants(pid))]:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] in "RD":
            return time.monotonic()
        total += sum(int(ticks) for ticks in fields[11:15])
    return total


def kill(pid, number):
    """Sends a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass

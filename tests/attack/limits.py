"""Little memory, few files, full disks, closed outputs: a documented exit code, and a later run as if undisturbed."""

import os
import resource
import shutil
import signal
import subprocess

import properties
from harness import Skipped, Violation
from projects import MANIFEST, MANIFESTS, copy, facts, finished, has_facts, put

RUN = ("run", MANIFEST, "--no-report")
RESULTS = "reports/tiny"
# Commands with any output, on a project that has results.
COMMANDS = [
    RUN, ("run", MANIFEST), ("run", MANIFEST, "--format", "json"), ("plan", MANIFEST),
    ("plan", MANIFEST, "--format", "json"), ("report", RESULTS), ("report", RESULTS, "--context"),
    ("compare", RESULTS, RESULTS), ("status", RESULTS), ("list",), ("list", "sections"),
    ("list", "models", "--format", "json"), ("schema",), ("completions", "bash"), ("--help",), ("doctor",),
    ("textconv", f"{RESULTS}/runs.csv"), ("helper", "python"), ("merge", MANIFEST), ("run", MANIFEST, "--dry-run"),
    ("plan", "absent.toml"),
]
FAKETIME = ("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib64/faketime/libfaketime.so.1")
ALL_CODES = (0, 1, 2, 3, 4)


def outputs(case):
    """Standard output, standard error or both are full or closed."""
    random = case.random
    copy(finished(case, "tiny"), case.project)
    if random.random() < 0.5:
        shutil.rmtree(case.project / "reports")
    command = random.choice(COMMANDS)
    full, closed = "/dev/full", "-"
    one, two = random.choice([
        (full, None), (None, full), (full, full), (closed, None), (None, closed), (closed, closed), (full, closed),
    ])
    case.note(f"stdout {one}, stderr {two}")
    redirect = "".join(f" {number}>{'&-' if to == closed else to}" for number, to in ((1, one), (2, two)) if to)
    ended = case.run(*command, before=("sh", "-c", f'exec "$0" "$@"{redirect}'))
    check_without_outputs(ended, two is None)


def check_without_outputs(ended, has_stderr):
    """The exit code is documented; a sentence can be asked for where there is a place for it."""
    if ended.code == 2 and not has_stderr:
        ended.stderr = b"(no place for a sentence)"
    properties.ends_well(ended, ALL_CODES)


def pipe(case):
    """The reader of standard output goes away early, as `head` does."""
    copy(finished(case, "tiny"), case.project)
    lines = case.random.choice([0, 1, 3])
    script = f'("$0" "$@"; echo $? > code) | head -n {lines} > /dev/null; exit $(cat code)'
    ended = case.run(*case.random.choice(COMMANDS), before=("sh", "-c", script))
    check_without_outputs(ended, True)


def files(case):
    """Files may have few bytes only."""
    put(case, "tiny")
    size = case.random.choice([0, 1, 100, 512, 2000, 4096, 20_000, 100_000])
    case.note(f"files of at most {size} bytes")
    # Standard error is a file of the case, to which the limit would apply too.
    limits = [(resource.RLIMIT_FSIZE, size)]
    ended = case.run(*case.random.choice([RUN, ("run", MANIFEST)]), limits=limits, stderr=subprocess.DEVNULL)
    check_without_outputs(ended, False)


def descriptors(case):
    """Few files may be open."""
    put(case, case.random.choice(["tiny", "search"]))
    number = case.random.choice([3, 4, 5, 6, 8, 10, 12, 16, 20, 32])
    case.note(f"at most {number} open files")
    limits = [(resource.RLIMIT_NOFILE, number)]
    is_loaded(case, "open files", limits=limits)
    properties.ends_well(case.run(*RUN, *case.random.choice([(), ("--jobs", "2")]), limits=limits))


def is_loaded(case, of_what, **options):
    """Leaves the case out where the system cannot even load the program."""
    if case.run("--version", **options).code != 0:
        raise Skipped(f"the program cannot be loaded with so little: {of_what}")


def memory(case):
    """Little memory."""
    put(case, case.random.choice(["tiny", "search", "slow"]))
    size = case.random.choice([40, 60, 80, 100, 150, 250, 400]) << 20
    case.note(f"at most {size >> 20} MiB of addresses")
    is_loaded(case, "memory", memory=size)
    ended = case.run(*RUN, memory=size)
    is_of_glibc = ended.code == -signal.SIGABRT and b"Fatal glibc error" in ended.stderr
    if size <= 60 << 20 and (is_of_glibc or ended.code == -signal.SIGSEGV):
        # glibc aborts (`failed to register TLS destructor`), or a stack cannot grow.
        raise Skipped("the system's libraries do not run in so little memory")
    properties.ends_well(ended)


# The superuser has no limit of processes; this user has no other process.
NOBODY = 65_534


def threads(case):
    """Few processes and threads."""
    put(case, "tiny")
    before = ()
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            raise Skipped("the superuser has no limit of processes, and there is no `setpriv`")
        before = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        case.workspace.chmod(0o755)
        case.base.joinpath("cache").mkdir()
        subprocess.run(["chown", "-R", str(NOBODY), case.base], check=True)
    limits = [(resource.RLIMIT_NPROC, case.random.choice([1, 2, 3, 5, 8, 20]))]
    properties.ends_well(case.run(*RUN, limits=limits, before=before))


def surroundings(case):
    """Strange environments: folders that are not there, sizes of terminals, names that are no text."""
    put(case, "tiny")
    strange = [
        {"TMPDIR": "/nonexistent"}, {"TMPDIR": "/dev/null"}, {"HOME": ""}, {"HOME": "/nonexistent"}, {"PATH": ""},
        {"COLUMNS": "0"}, {"COLUMNS": "1"}, {"COLUMNS": "99999999999"}, {"COLUMNS": "-1"}, {"TERM": "\x1b[31m"},
        {"NO_COLOR": ""}, {"CLICOLOR_FORCE": "1"}, {"RAYON_NUM_THREADS": "0"}, {"RAYON_NUM_THREADS": "1000"},
        {"RAYON_NUM_THREADS": "x"}, {"LANG": "\udcff"}, {"TZ": "\udcff/../x"}, {"FIELDTRIAL_CACHE": "/dev/null/x"},
        {"FIELDTRIAL_ORDER": "/dev/zero"}, {"RUST_BACKTRACE": "full"}, {"RUST_LOG": "trace"},
        {"OMP_NUM_THREADS": "-1"}, {"CUDA_VISIBLE_DEVICES": "x" * 100_000}, {"MALLOC_ARENA_MAX": "0"},
        {"RUST_MIN_STACK": "1"},
    ]
    variables = case.random.choice(strange)
    case.note(ascii(str(variables)[:100]))
    ended = case.run(*case.random.choice([RUN, ("run", MANIFEST), ("plan", MANIFEST), ("doctor",)]), env=variables)
    if variables == {"CLICOLOR_FORCE": "1"}:
        ended.stderr = ended.stderr.replace(b"\x1b", b"")
    properties.ends_well(ended)


def in_a_mount(case, script):
    """Runs a shell script in a mount namespace of its own, with the program as `$0`."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        raise Skipped("this user may not mount a small disk")
    put(case, case.random.choice(["tiny", "tiny", "search", "profile"]))
    case.project.joinpath("reports").mkdir()
    return case.run(*case.random.choice([RUN, ("run", MANIFEST)]), before=("unshare", "--mount", "sh", "-c", script))


def disk(case):
    """The disk becomes full at some moment; with more room the same command goes on."""
    size = case.random.choice([4, 16, 40, 64, 80, 100, 140, 200, 300])
    case.note(f"a disk of {size} KiB")
    script = f"""mount -t tmpfs -o size={size}k tmpfs reports || exit 99
        "$0" "$@"; code=$?
        mount -o remount,size=64m reports || exit 99
        "$0" "$@" > again 2>&1 || exit 98
        cp -a reports copy; umount reports; cp -a copy/. reports/; rm -r copy again; exit $code"""
    ended = in_a_mount(case, script)
    later_runs(ended)


def read_only(case):
    """The results are on a file system that cannot be written."""
    copy(finished(case, "tiny"), case.project / "other")
    script = """mount -t tmpfs tmpfs reports || exit 99
        cp -a other/reports/. reports/; rm -f reports/tiny/runs.csv
        mount -o remount,ro reports || exit 99
        "$0" "$@"; exit $?"""
    ended = in_a_mount(case, script)
    shutil.rmtree(case.project / "other")
    later_runs(ended)


def later_runs(ended):
    """The exit code of a script with a run under hard conditions, and one under good ones."""
    if ended.code == 99:
        raise Skipped("this user may not mount a small disk")
    if ended.code == 98:
        raise Violation("later", f"with room on the disk, the same command failed: {ended.said()}")
    properties.ends_well(ended)


def clock(case):
    """The clock jumps, with libfaketime."""
    library = next((path for path in FAKETIME if os.path.exists(path)), None)
    if library is None:
        raise Skipped("libfaketime is not installed")
    put(case, case.random.choice(["tiny", "search"]))
    moment = case.random.choice([
        "@1970-01-01 00:00:01", "@2038-01-19 03:14:05", "@2100-01-01 00:00:00", "+0 x1000", "-100d",
        "@1960-01-01 00:00:00",
    ])
    case.note(moment)
    properties.ends_well(case.run(*RUN, env={"LD_PRELOAD": library, "FAKETIME": moment}))


def strange_places(case):
    """Outputs that are devices or lie in none: `--out /dev/full`, results that are a file, a folder that was removed."""
    copy(finished(case, "tiny"), case.project)
    outs = ["/dev/full", "/dev/full/x", "/dev/null", "/proc/x", f"{RESULTS}/runs.csv", " ", "x" * 300, "out\n"]
    properties.ends_well(case.run("compare", RESULTS, RESULTS, "--out", case.random.choice(outs)), ALL_CODES)
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"'
    properties.ends_well(case.run("plan", f"{case.project}/{MANIFEST}", before=("sh", "-c", script)), ALL_CODES)


KINDS = [
    outputs, outputs, outputs, pipe, files, files, descriptors, descriptors, memory, memory, threads, surroundings,
    surroundings, disk, disk, read_only, clock, strange_places,
]


def case(case):
    """Runs under one hard condition, then in good ones."""
    case.open()
    kind = case.random.choice(KINDS)
    case.note(kind.__name__)
    kind(case)
    properties.nothing_stays(case)
    name = which(case)
    if name is None:
        return
    ended = case.run("run", MANIFEST, "--no-report", "--retry", seconds=120)
    properties.ends_well(ended, codes=(0,))
    has_facts(case.project, facts(finished(case, name)), f"after {kind.__name__}")


def which(case):
    """The name of the project whose manifest the case has."""
    path = case.project / MANIFEST
    return next((name for name, text in MANIFESTS.items() if path.read_text() == text), None) if path.is_file() else None

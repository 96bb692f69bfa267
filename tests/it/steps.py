"""The steps of the observer of PyTorch, by a fed clock and without PyTorch: python3 steps.py FOLDER-OF-THE-OBSERVER."""

import sys

sys.path.insert(0, sys.argv[1])
from fieldtrial_observe import samples_of  # noqa: E402
from fieldtrial_steps import BACKWARD, FORWARD, Gpu, Steps, startup_steps  # noqa: E402


class Program:
    """A program that trains, whose actions take the milliseconds that a test names."""

    def __init__(self):
        self.ms, self.events = 0.0, []
        self.steps = Steps(self.events.append, clock=lambda: self.ms / 1e3)

    def fetch(self, ms, samples=4, with_gradients=True, is_first=False, is_last=False):
        token = self.steps.fetch_begins(with_gradients)
        self.ms += ms
        self.steps.fetch_ends(token, samples, is_first, is_last)

    def phase(self, phase, ms):
        assert self.steps.begins(phase)
        self.ms += ms
        self.steps.ends()

    def update(self, ms, optimizer="a"):
        self.steps.update_begins(optimizer)
        self.ms += ms
        self.steps.update_ends(optimizer)

    def evaluate(self, ms):
        begin = self.steps.evaluation_begins()
        self.ms += ms
        self.steps.evaluation_ends(begin, False)

    def told(self):
        """Times and samples of all steps, and milliseconds by phase summed over the timed ones."""
        self.steps.finish()
        times, samples, micro, phases, of_run = [], [], 1, {}, {}
        for event in self.events:
            if event["event"] == "steps":
                times += event["ms"]
                samples += event.get("samples", [])
                micro = event.get("micro_batches", micro)
            elif "ms" in event:
                for name, value in event["ms"].items():
                    phases[name] = phases.get(name, 0) + event["steps"] * value
            else:
                of_run = event
        return times, samples, micro, phases, of_run


def close(one, other):
    assert abs(one - other) < 1e-6, (one, other)


def plain():
    program = Program()
    for _ in range(10):
        program.fetch(2)
        program.phase(FORWARD, 3)
        program.phase(BACKWARD, 5)
        program.ms += 1
        program.update(4)
    times, samples, micro, phases, _ = program.told()
    assert times == [15.0] * 10 and samples == [4] * 10 and micro == 1, (times, samples)
    for name, value in {"data_wait": 20, "forward": 30, "backward": 50, "optimizer": 40}.items():
        close(phases[name], value)


def accumulation():
    program = Program()
    for number in range(12):
        program.fetch(1)
        program.phase(FORWARD, 1)
        program.phase(BACKWARD, 1)
        if number % 4 == 3:
            program.update(1)
    times, samples, micro, phases, _ = program.told()
    assert times == [13.0] * 3 and samples == [16] * 3 and micro == 4, (times, samples, micro)
    close(phases["backward"], 12)


def two_optimizers():
    program = Program()
    for _ in range(6):
        program.fetch(1)
        for name in "ab":
            program.phase(FORWARD, 1)
            program.phase(BACKWARD, 1)
            program.update(1, name)
    times, samples, *_ = program.told()
    assert times == [7.0] * 6 and samples == [4] * 6, (times, samples)


def closure():
    """Forward and backward inside of the optimizer's step count as their own phases, and nothing in a closure as an update."""
    program = Program()
    for _ in range(5):
        program.fetch(1)
        program.steps.update_begins("a")
        for _ in range(2):
            program.ms += 1
            assert program.steps.closure_begins()
            program.ms += 30
            program.phase(FORWARD, 2)
            assert not program.steps.closure_begins()
            program.phase(BACKWARD, 3)
            program.ms += 30
            program.steps.closure_ends()
        program.phase(FORWARD, 2)
        program.ms += 4
        program.steps.update_ends("a")
    times, _, _, phases, _ = program.told()
    assert times == [1.0 + 2 * 66 + 6] * 5, times
    close(phases["forward"], 30)
    close(phases["backward"], 30)
    close(phases["optimizer"], 5 * (2 + 4))


def evaluation():
    """A validation loop, with or without gradients at its fetches, is no part of a step and no waiting."""
    for with_gradients in (False, True):
        program = Program()
        for _ in range(3):
            for number in range(4):
                program.fetch(1, is_first=number == 0)
                program.phase(FORWARD, 2)
                program.phase(BACKWARD, 2)
                program.update(1)
            for number in range(2):
                program.fetch(50, with_gradients=with_gradients, is_first=number == 0)
                program.evaluate(100)
        times, _, _, phases, of_run = program.told()
        assert len(times) == 12 and all(time == 6.0 for time in times if time is not None), times
        assert phases["data_wait"] <= 12, phases
        close(of_run["evaluation_s"], 3 * 2 * 0.15)
        close(of_run["train_s"], 12 * 6e-3)


def evaluation_before_the_first_step():
    """A step that is shorter than the evaluation before it: the evaluation is in no step, and training lasts as long as its steps."""
    program = Program()
    program.evaluate(300)
    for _ in range(10):
        program.phase(FORWARD, 2)
        program.phase(BACKWARD, 2)
        program.update(1)
    times, _, _, _, of_run = program.told()
    assert times == [5.0] * 10, times
    close(of_run["evaluation_s"], 0.3)
    close(of_run["train_s"], 0.05)


def without_loader():
    program = Program()
    for _ in range(150):
        program.phase(FORWARD, 2)
        program.phase(BACKWARD, 2)
        program.update(1)
    times, samples, *_ = program.told()
    assert len(times) == 150 and times[-1] == 5.0 and samples == [], (len(times), samples[:3])


def start_up():
    assert startup_steps([900.0, 30.0] + [10.0] * 60) == 1
    assert startup_steps([900.0, None, 90.0] + [10.0] * 60) == 3
    assert startup_steps([10.0] * 60) == 0


class Cuda:
    """`torch.cuda` of a GPU that works behind the host: it begins when the work before it is over."""

    def __init__(self, program):
        self.program, self.busy_until, self.waits, self.peak = program, 0.0, 0, 100

    def queue(self, ms):
        self.program.ms += 0.1
        self.busy_until = max(self.busy_until, self.program.ms) + ms

    def synchronize(self):
        self.waits += 1
        self.program.ms = max(self.program.ms, self.busy_until)

    def max_memory_allocated(self):
        return self.peak

    def Event(self, enable_timing):  # noqa: N802 - as in torch
        assert enable_timing
        return Event(self)


class Event:
    def __init__(self, cuda):
        self.cuda, self.at = cuda, None

    def record(self):
        self.at = max(self.cuda.busy_until, self.cuda.program.ms)

    def query(self):
        return self.at <= self.cuda.program.ms

    def synchronize(self):
        self.cuda.program.ms = max(self.cuda.program.ms, self.at)

    def elapsed_time(self, other):
        return other.at - self.at


def gpu():
    """Steps are timed by marks that nobody waits for; phases come from 20 steps after the first 20, which wait."""
    program = Program()
    cuda = Cuda(program)
    program.steps.gpu = Gpu(cuda)
    waits = []

    def work(phase, ms):
        assert program.steps.begins(phase)
        cuda.queue(ms)
        program.steps.ends()

    for number in range(80):
        if number == 70:
            program.evaluate(0)
            cuda.peak = 150
        program.fetch(2)
        work(FORWARD, 3)
        work(BACKWARD, 5)
        program.steps.update_begins("a")
        cuda.queue(4)
        program.steps.update_ends("a")
        waits.append(cuda.waits)
    times, samples, _, phases, of_run = program.told()
    assert waits[19] == 0 and waits[20] > 0 and waits[79] == waits[41], waits
    # The first has no mark before it; those that wait, the one after them and the one after the evaluation do not count.
    untimed = [number for number, ms in enumerate(times) if ms is None]
    assert untimed == [0, *range(20, 41), 70], untimed
    # The host is ahead of the GPU: fetches of 2 ms cost nothing. Where it waits, they do.
    for ms in times:
        assert ms is None or abs(ms - 12) < 1e-6, times
    assert len(times) == 80 and samples == [4] * 80
    for name, ms in {"data_wait": 2, "forward": 3.1, "backward": 5.1, "optimizer": 4.1}.items():
        close(phases[name] / 20, ms)
    told = [event for event in program.events if event.get("synchronised")]
    assert [event["steps"] for event in told] == [20], told
    memory = program.steps.gpu.memory()
    assert (memory["peak_train_bytes"], memory["peak_validation_bytes"]) == (100, 150), memory


def epochs():
    program = Program()
    for starts in (50, 10, 30):
        program.ms += 5
        program.steps.loader_starts_epoch(0.005)
        for step in range(4):
            program.fetch(starts if step == 0 else 2, is_first=step == 0)
            program.phase(FORWARD, 3)
            program.phase(BACKWARD, 5)
            program.update(2)
        token = program.steps.fetch_begins(True)
        program.steps.fetch_ends(token, None, False)
        # A loader of evaluation, with gradients: no epoch of training.
        for step in range(2):
            program.fetch(1, is_first=step == 0)
            program.evaluate(100)
        token = program.steps.fetch_begins(True)
        program.steps.fetch_ends(token, None, False)
    # Neither is a pass that makes no step, nor an epoch that the program leaves early.
    for step in range(2):
        program.fetch(1, is_first=step == 0)
        program.phase(FORWARD, 400)
    token = program.steps.fetch_begins(True)
    program.steps.fetch_ends(token, None, False)
    program.fetch(500, is_first=True)
    program.phase(FORWARD, 3)
    program.phase(BACKWARD, 5)
    program.update(2)
    of_run = program.told()[4]
    # The median of 5 + (50, 10, 30) + 3 × 2 + 4 × 10.
    close(of_run["epoch_s"], 0.081)


def epochs_without_an_end():
    """A loop that counts its batches, as Lightning's does, and one that fetches each ahead, as Accelerate's: 20 ms for the first
    batch, 2 for each other, 8 for each step. The time between epochs and an epoch that is left early are in none."""
    for is_ahead in (False, True):
        program = Program()
        for batches in (4, 4, 4, 2):
            program.steps.loader_starts_epoch(0)
            for place in range(batches):
                if place == 0 or not is_ahead:
                    program.fetch(2 if place else 20, is_first=place == 0, is_last=place == 3)
                if is_ahead:
                    program.fetch(2 if place < 3 else 0, samples=4 if place < 3 else None)
                program.phase(FORWARD, 3)
                program.phase(BACKWARD, 4)
                program.update(1)
            program.ms += 7
            program.evaluate(100)
        of_run = program.told()[4]
        close(of_run["epoch_s"], 0.058)
        assert len(program.steps.epochs) == 3, program.steps.epochs


class Tensor:
    def __init__(self, *shape):
        self.shape = shape

    def dim(self):
        return len(self.shape)


class Graphs:
    """A batch of PyTorch Geometric: 12 nodes of three graphs."""

    num_graphs = 3

    def values(self):
        return [Tensor(12, 5)]


class Keys(dict):
    __getattr__ = dict.__getitem__


def samples():
    def of(batch):
        return samples_of(batch, Tensor)

    assert of([Tensor(), {"a": Tensor(8, 2)}]) == 8 and of(["text"]) is None
    assert of(Keys(a=Tensor(8))) == 8
    assert of(Graphs()) == 3 and of((Graphs(), Tensor(12))) == 3


TESTS = (
    plain, accumulation, two_optimizers, closure, evaluation, evaluation_before_the_first_step, without_loader, start_up, epochs,
    epochs_without_an_end, gpu, samples,
)
for test in TESTS:
    test()
    print(test.__name__, "ok")

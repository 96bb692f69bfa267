"""Where the steps of a training program begin and end, and what their time is made of. Knows nothing of torch: the hooks of
`fieldtrial_observe` call it, tests drive it with a fed clock.

A step ends with the last optimizer step before the next fetch of a batch; in a program that fetches none, with each optimizer
step. Its time counts from the end of the step before, without evaluation and without the start of an epoch's loader."""

from time import perf_counter

PHASES = ("data_wait", "forward", "loss", "backward", "optimizer")
DATA, FORWARD, LOSS, BACKWARD, OPTIMIZER = range(5)
EVALUATION, STEP = -1, -2
# Steps at the beginning that take more than SLOW × the median of the FOLLOWING ones are start-up.
SLOW, FOLLOWING = 3.0, 50
# Steps that are told at a time, or after so many seconds.
CHUNK, SECONDS = 512, 5.0
# Steps before those that synchronise to measure phases of a GPU.
BEFORE_PHASES = 20
# Optimizer steps of one optimizer without a fetch after which the program counts as one without a loader.
WITHOUT_FETCH = 100


class Steps:
    """The steps of the thread that trains. `tell` gets events (docs/worker-protocol.md)."""

    def __init__(self, tell, phase_steps=20, clock=perf_counter):
        self.tell, self.now, self.phase_steps = tell, clock, phase_steps
        self.gpu = None  # set once the program has trained a step on a GPU
        self.ranks = 1  # processes that train together
        self.count = 0  # finished steps
        self.spent = [0.0] * 5
        self.mark = None  # the end of the step before
        self.candidate = None  # the end of the last optimizer step since then
        self.without = 0.0  # seconds since `mark` that count for no step
        self.fetched = []  # batches that no model has seen: (start, seconds, samples, is first of its epoch, is last)
        self.queue = []  # samples of batches that training has begun to use
        self.has_fetched = False  # whether a batch was fetched since `mark`
        self.of_epoch = 0  # fetches of the present epoch
        self.is_timed = True
        self.backwards = 0
        self.updates = {}  # optimizer steps since the last fetch
        self.needs_fetch = True
        self.active = None  # the phase that runs: (phase, start)
        self.update_depth, self.update_from = 0, 0.0  # `update_from` is None while the optimizer's closure runs
        self.in_evaluation = None  # [begin, end] of an evaluation that is not over
        self.unsure = 0.0  # forward in evaluation mode with gradients: training, if a backward follows
        self.rows = []  # finished steps that are not told yet
        self.told_startup = False
        self.last_told = clock()
        self.is_phase_step, self.phase_rows, self.gpu_marks = False, [], []
        self.evaluation_s, self.loader_starts = 0.0, []
        self.evaluation_between, self.last = 0.0, None  # evaluation before the end of the last step; that end
        self.iterator_from = None  # when a loader began to make its latest iterator
        self.epoch_from = None  # begin of the present epoch, and the evaluation before it
        self.is_whole = False  # whether its last batch was fetched
        self.epochs = []  # seconds of whole epochs, their loader's start included, without evaluation
        self.began = clock()  # the program
        self.first = None  # the beginning of its first step
        self.on_step = None  # called with the number of the step that begins, outside of torch.inference_mode()
        self.is_inference, self.has_begun = lambda: False, True
        self.log = None  # a list gets (phase, begin, end) of what runs; the phase of a step is STEP

    # The hooks. `time` is the clock's, after waiting for the GPU where phases of it are measured.

    def time(self):
        if self.is_phase_step:
            self.gpu.synchronize()
        return self.now()

    def _spend(self, phase, begin, end):
        self.spent[phase] += end - begin
        if self.log is not None:
            self.log.append((phase, begin, end))

    def loader_starts_epoch(self, seconds):
        """A loader has made its iterator, in `seconds`: its workers have been started."""
        self.iterator_from = self.now() - seconds
        if self.of_epoch != 1:
            self.loader_starts.append(seconds)

    def fetch_begins(self, with_gradients):
        """A fetch begins; its token, or None where it is part of another phase."""
        if self.active is not None:
            return None
        self.update_depth = 0
        if self.candidate is not None:
            self._finish_step()
        if self.in_evaluation is not None:
            self._close_evaluation()
        self.unsure = 0.0
        self._begin_step()
        # What has been done here before is no waiting.
        time = self.time()
        self.active = (DATA, time)
        return time, with_gradients

    def fetch_ends(self, token, samples, is_first, is_last=False):
        """A fetch is over. `samples` is None at the end of an epoch, and 0 for a batch that has no tensor. A loop that counts
        batches never asks for that end: so the last batch is marked, too."""
        time = self.time()
        begin, with_gradients = token
        self.active = None
        if samples is None:
            self.is_whole |= with_gradients
            return
        if not with_gradients:
            self.in_evaluation = [begin, time]
            return
        # An epoch of one batch: a program that asks for a new iterator at every step. Its starts are part of its steps.
        is_apart = is_first and self.of_epoch != 1
        self.of_epoch = 1 if is_first else self.of_epoch + 1
        self.fetched.append((begin, time - begin, samples, is_apart, is_last))

    def _end_epoch(self):
        """The epoch whose last batch was fetched ended with the last step: batches may have been fetched ahead of it."""
        self.is_whole = False
        if self.epoch_from is not None:
            begin, evaluated = self.epoch_from
            self.epoch_from = None
            # A pass without an optimizer step is no epoch of training.
            if self.last is not None and self.last > begin:
                self.epochs.append(self.last - begin - (self.evaluation_between - evaluated))

    def _training(self, time):
        """Something of training begins: decides what the fetches and evaluations before it were."""
        self._begin_step()
        if self.in_evaluation is not None:
            if self.fetched or self.candidate is not None or self.backwards:
                self.in_evaluation = None  # a teacher, or a generator without gradients: part of the step
            else:
                self._close_evaluation()
        if self.fetched:
            if self.mark is None:
                self.mark = self.fetched[0][0]
            if self.is_whole:
                self._end_epoch()
            self.has_fetched = True
            self.updates.clear()
            for begin, seconds, samples, is_apart, is_last in self.fetched:
                self.queue.append(samples)
                self.is_whole |= is_last
                if is_apart:
                    self.is_timed = False
                    start = begin if self.iterator_from is None else self.iterator_from
                    self.epoch_from = (start, self.evaluation_between + self.without)
                    self.iterator_from = None
                    if self.loader_starts:
                        self.loader_starts[-1] += seconds
                else:
                    self._spend(DATA, begin, begin + seconds)
            self.fetched.clear()
        if self.mark is None:
            self.mark = time
        if self.first is None:
            self.first = self.mark

    def begins(self, phase):
        """A phase of training begins; False where it is part of another one."""
        if self.active is not None:
            return False
        time = self.time()
        if self.fetched or self.in_evaluation is not None or self.mark is None:
            self._training(time)
        if phase == BACKWARD:
            self.backwards += 1
            self.spent[FORWARD] += self.unsure
            self.unsure = 0.0
        if self.update_depth and self.update_from is not None:
            self._spend(OPTIMIZER, self.update_from, time)
        self.active = (phase, time)
        return True

    def ends(self):
        """The phase that began is over."""
        time = self.time()
        phase, begin = self.active
        self.active = None
        self._spend(phase, begin, time)
        if self.update_depth and self.update_from is not None:
            self.update_from = time

    def closure_begins(self):
        """The optimizer's step calls its closure; False within another closure."""
        if not self.update_depth or self.update_from is None:
            return False
        self._spend(OPTIMIZER, self.update_from, self.time())
        self.update_from = None
        return True

    def closure_ends(self):
        self.update_from = self.time()

    def evaluation_begins(self):
        """A model in evaluation mode, or without gradients, begins; None where it is part of a phase."""
        if self.active is not None:
            return None
        if self.gpu is not None:
            self.gpu.before_evaluation()
        self.active = (EVALUATION, self.time())
        return self.active[1]

    def evaluation_ends(self, begin, with_gradients):
        time = self.time()
        self.active = None
        if self.update_depth:
            return
        if with_gradients:
            self.unsure += time - begin
        if self.in_evaluation is None:
            self.in_evaluation = [begin, time]
        self.in_evaluation[1] = time

    def _close_evaluation(self):
        begin, end = self.in_evaluation
        if self.fetched:
            # Batches that went through a model in evaluation mode only were no training.
            begin = min(begin, self.fetched[0][0])
            self.fetched.clear()
        self.in_evaluation = None
        self.evaluation_s += end - begin
        # Before the first step it is part of none.
        if self.mark is not None:
            self.without += end - begin
        self.unsure = 0.0
        if self.gpu is not None:
            self.is_timed = False
            self.gpu.evaluated()

    def update_begins(self, optimizer):
        self.update_depth += 1
        if self.update_depth > 1:
            return
        time = self.time()
        if self.fetched or self.in_evaluation is not None or self.mark is None:
            self._training(time)
        if self.candidate is not None and optimizer in self.updates:
            # The same optimizer once more without a fetch: of a batch that was fetched ahead, or of the same step.
            if len(self.queue) > 1 or not self.needs_fetch:
                self._finish_step()
        self.update_from = time

    def update_ends(self, optimizer):
        if self.update_depth == 0:
            return
        self.update_depth -= 1
        if self.update_depth:
            return
        time = self.time()
        self._spend(OPTIMIZER, self.update_from, time)
        self.candidate = time
        number = self.updates[optimizer] = self.updates.get(optimizer, 0) + 1
        if number > WITHOUT_FETCH:
            self.needs_fetch = False
        if self.gpu is not None:
            self.gpu.mark()
        if not self.has_fetched or not self.needs_fetch:
            self._finish_step()

    # Steps that are over.

    def _finish_step(self):
        used = min(len(self.queue), max(1, self.backwards))
        samples = sum(self.queue[:used])
        del self.queue[:used]
        seconds = self.candidate - self.mark - self.without
        if self.log is not None:
            self.log.append((STEP, self.mark, self.candidate))
        self.evaluation_between += self.without
        self.spent[FORWARD] += self.unsure
        row = (seconds if self.is_timed else None, samples, used, tuple(self.spent), self.without)
        self.count += 1
        event = None if self.gpu is None else self.gpu.step_ends()
        if self.is_phase_step:
            if self.is_timed:
                self.phase_rows.append(row)
            # Its time is not that of an ordinary step.
            row = (None, *row[1:])
        self.rows.append(row)
        self.gpu_marks.append(event)
        self.mark = self.last = self.candidate
        self.candidate = None
        self.without, self.unsure, self.is_timed = 0.0, 0.0, True
        self.has_fetched, self.backwards = False, 0
        self.spent = [0.0] * 5
        if self.gpu is not None:
            self._choose_phase_step()
        self.has_begun = False
        self._begin_step()
        enough = self.told_startup or len(self.rows) > FOLLOWING + 10
        if len(self.rows) >= CHUNK or (enough and self.mark - self.last_told > SECONDS):
            self.flush()

    def _begin_step(self):
        """Tells of the step that begins. An evaluation in inference mode may have ended the one before: then when it is over, since
        no dispatch mode may begin or end in there."""
        if not self.has_begun and not self.is_inference():
            self.has_begun = True
            if self.on_step is not None:
                self.on_step(self.count)

    def leave_out(self):
        """The step that runs does something besides: its time does not count."""
        self.is_timed = False

    def _choose_phase_step(self):
        was = self.is_phase_step
        self.is_phase_step = self.count >= BEFORE_PHASES and len(self.phase_rows) < self.phase_steps
        if self.is_phase_step:
            self.mark = self.time()
        elif was:
            # The step after the last one that synchronised starts with an empty queue of kernels.
            self.is_timed = False

    def flush(self, at_end=False):
        """Tells what is finished."""
        rows, marks = self.rows, self.gpu_marks
        self.last_told = self.now()
        if self.gpu is not None:
            # A mark is read when the GPU has passed it, without waiting for it.
            passed = len(rows) if at_end else self.gpu.passed(marks)
            self.rows, self.gpu_marks = rows[passed:], marks[passed:]
            rows = self.gpu.timed(rows[:passed], marks[:passed])
        else:
            self.rows, self.gpu_marks = [], []
        if not rows:
            return
        # What comes in most steps is no validation, but a part of them: the target network of reinforcement learning.
        if self.gpu is None and sum(row[4] > 0 for row in rows) > len(rows) / 2:
            rows = [(None if row[0] is None else row[0] + row[4], *row[1:]) for row in rows]
        event = {"event": "steps", "ms": [_ms(row[0]) for row in rows]}
        if any(row[1] for row in rows):
            event["samples"] = [row[1] for row in rows]
        micro = sorted(row[2] for row in rows)[len(rows) // 2]
        if micro > 1:
            event["micro_batches"] = micro
        if self.ranks > 1:
            event["ranks"] = self.ranks
        startup = 0
        if not self.told_startup:
            self.told_startup = True
            startup = startup_steps([row[0] for row in rows])
            if startup:
                event["startup"] = startup
        self.tell(event)
        if self.gpu is None:
            self._tell_phases([row for row in rows[startup:] if row[0] is not None])

    def _tell_phases(self, rows):
        if not rows:
            return
        number = len(rows)
        event = {"event": "phases", "steps": number, "step_ms": _ms(sum(row[0] for row in rows) / number), "ms": {}}
        for phase, name in enumerate(PHASES):
            event["ms"][name] = _ms(sum(row[3][phase] for row in rows) / number)
        if self.gpu is not None:
            event["synchronised"] = True
        self.tell(event)

    def finish(self):
        """The program is over."""
        self.is_phase_step = False
        if self.candidate is not None:
            self._finish_step()
            self.is_phase_step = False
        if self.in_evaluation is not None:
            self._close_evaluation()
        if self.is_whole:
            self._end_epoch()
        self.flush(at_end=True)
        if self.gpu is not None:
            self._tell_phases(self.phase_rows)
        if self.first is None:
            return
        times = {"startup_s": round(self.first - self.began, 6)}
        times["train_s"] = round(self.last - self.first - self.evaluation_between, 6)
        if self.evaluation_s:
            times["evaluation_s"] = round(self.evaluation_s, 6)
        if self.loader_starts:
            starts = sorted(self.loader_starts)
            times["loader_start_ms"] = _ms(starts[len(starts) // 2])
        if self.epochs:
            # The lower one of two: the first has the start-up of the program.
            times["epoch_s"] = round(sorted(self.epochs)[(len(self.epochs) - 1) // 2], 6)
        self.tell({"event": "phases", **times})


def _ms(seconds):
    return None if seconds is None else round(1e3 * seconds, 6)


def startup_steps(seconds):
    """How many steps at the beginning take more than three times the median of the fifty that follow; a step that is not
    timed counts where one after it does."""
    found = 0
    for place, value in enumerate(seconds[:FOLLOWING]):
        following = sorted(other for other in seconds[place + 1 : place + 1 + FOLLOWING] if other is not None)
        if value is None:
            continue
        if not following or value <= SLOW * following[len(following) // 2]:
            break
        found = place + 1
    return found


class Gpu:
    """Marks at the ends of steps on a GPU's stream (`torch.cuda.Event`), which cost no waiting."""

    def __init__(self, cuda):
        self.cuda, self.free, self.current, self.last = cuda, [], None, None
        self.peak_train = self.peak_evaluation = None

    def synchronize(self):
        self.cuda.synchronize()

    def mark(self):
        if self.current is None:
            self.current = self.free.pop() if self.free else self.cuda.Event(enable_timing=True)
        self.current.record()

    def step_ends(self):
        event, self.current = self.current, None
        return event

    def passed(self, marks):
        """How many marks, from the first, the GPU has passed."""
        for place, event in enumerate(marks):
            if event is not None and not event.query():
                return place
        return len(marks)

    def timed(self, rows, marks):
        """The rows with their times by the GPU; a row whose step before has no mark has none."""
        timed = []
        for row, event in zip(rows, marks):
            seconds = None
            if row[0] is not None and event is not None and self.last is not None:
                event.synchronize()
                seconds = self.last.elapsed_time(event) / 1e3
            timed.append((seconds, *row[1:]))
            if self.last is not None:
                self.free.append(self.last)
            self.last = event
        return timed

    def evaluated(self):
        self.peak_evaluation = self.cuda.max_memory_allocated()

    def before_evaluation(self):
        if self.peak_evaluation is None and self.peak_train is None:
            self.peak_train = self.cuda.max_memory_allocated()

    def memory(self):
        """Peaks of memory that tensors took: before the first evaluation, and with evaluations."""
        peak = self.cuda.max_memory_allocated()
        event = {"event": "memory", "source": "torch.cuda.max_memory_allocated"}
        event["peak_train_bytes"] = peak if self.peak_evaluation is None else self.peak_train
        event["peak_validation_bytes"] = None if self.peak_evaluation is None else peak
        return event

"""Operations of a few steps, by module: calls, time in both directions, FLOPs. What PyTorch dispatches below autograd is seen by a
dispatch mode; an operation of the backward pass belongs to the one of the forward pass whose sequence number its node has."""

from contextlib import contextmanager
from threading import get_ident
from time import perf_counter

from torch._C._autograd import _get_sequence_nr
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from fieldtrial_steps import DATA, EVALUATION, FORWARD, LOSS, PHASES, STEP

# Below it an operation is no work: views and allocations are left out of the events, their time stays in the residual.
LEAST_MS = 0.001
# Spans of the trace, from the first step on; the rows are complete.
MOST_SPANS = 5000

# The profile that runs, for `fieldtrial.phase`.
current = None


class Profile(TorchDispatchMode):
    def __init__(self, torch, steps, modules):
        super().__init__()
        self.torch, self.steps = torch, steps
        self.names = {}
        for place, module in enumerate(modules):
            # A compiled module and the one in it, a wrapper and its model: the names of the outermost.
            prefix = "" if place == 0 else f"{type(module).__name__}."
            for name, part in module.named_modules():
                self.names.setdefault(part, prefix + name if name else prefix.rstrip("."))
        self.stack = []
        self.rows = {}  # (layer, operation, phase): [calls, forward s, backward s, FLOPs forward, FLOPs backward]
        self.of_node = {}  # sequence number: the key of a row
        self.begin = steps.mark
        self.first = steps.count
        self.covered = 0.0  # seconds in operations
        self.spans = []  # operations: (name, layer, begin, seconds)
        self.thread = get_ident()

    def __enter__(self):
        register = self.torch.nn.modules.module
        before = register.register_module_forward_pre_hook(lambda module, _: self.stack.append(module))
        after = register.register_module_forward_hook(lambda module, *_: self.leave(module), always_call=True)
        self.handles = [before, after]
        self.log = self.steps.log = []
        global current
        current = self
        return super().__enter__()

    def __exit__(self, *raised):
        for handle in self.handles:
            handle.remove()
        global current
        current = self.steps.log = None
        return super().__exit__(*raised)

    def leave(self, module):
        if module in self.stack:
            del self.stack[self.stack.index(module) :]

    def phase(self):
        """The phase that runs, as rows have it; None in an evaluation."""
        active = self.steps.active
        if active is None and self.steps.in_evaluation is not None or active is not None and active[0] == EVALUATION:
            return None
        rest = "optimizer" if self.steps.update_depth else "other"
        return {DATA: "data_wait", FORWARD: "forward", LOSS: "loss"}.get(active and active[0], rest)

    def layer(self):
        return self.names.get(self.stack[-1], type(self.stack[-1]).__name__) if self.stack else ""

    @contextmanager
    def part(self, name):
        """`fieldtrial.phase`: what runs in it is of the layer `name`; the time between its operations is a row of its own."""
        phase = self.phase()
        if phase is None or get_ident() != self.thread:
            yield
            return
        self.names.setdefault(name, name)
        depth, begin, covered = len(self.stack), perf_counter(), self.covered
        self.stack.append(name)
        try:
            yield
        finally:
            del self.stack[depth:]
            seconds = perf_counter() - begin
            row = self.rows.setdefault((name, "python", phase), [0, 0.0, 0.0, 0, 0])
            row[0] += 1
            row[1] += seconds - (self.covered - covered)
            self.spans.append((name, "", begin, seconds))

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        named = named or {}
        is_backward = self.torch._C._current_graph_task_id() != -1
        phase = None if is_backward else self.phase()
        # Of fetches only what the program names: most of what a dataset does is no operation of PyTorch.
        if not is_backward and (phase is None or phase == "data_wait" and not self.stack):
            return function(*arguments, **named)
        is_on_gpu = self.steps.gpu is not None
        if is_on_gpu:
            self.steps.gpu.synchronize()
        begin = perf_counter()
        result = function(*arguments, **named)
        if is_on_gpu:
            self.steps.gpu.synchronize()
        seconds = perf_counter() - begin
        packet = function._overloadpacket
        flops = 0
        if packet in flop_registry:
            flops = flop_registry[packet](*arguments, **named, out_val=result)
        self.covered += seconds
        if is_backward:
            node = self.torch._C._current_autograd_node()
            key = self.of_node.get(node._sequence_nr()) if node is not None else None
            key = key or ("", packet.__name__, "backward")
        else:
            key = (self.layer(), packet.__name__, phase)
            # The first operation below a node is the one that it differentiates.
            self.of_node.setdefault(_get_sequence_nr() - 1, key)
        row = self.rows.setdefault(key, [0, 0.0, 0.0, 0, 0])
        row[0] += not is_backward
        row[1 + is_backward] += seconds
        row[3 + is_backward] += flops
        self.spans.append((packet.__name__ + " backward" * is_backward, key[0], begin, seconds))
        return result

    def trace(self):
        """Spans for the trace, as `[lane, name, detail, start, duration]` in microseconds since the first of these steps."""
        spans = []
        for phase, begin, end in self.log:
            lane, name = ("steps", "step") if phase == STEP else ("phases", PHASES[phase])
            spans.append((lane, name, "", begin, end - begin))
        spans += [("ops", name, layer, begin, seconds) for name, layer, begin, seconds in self.spans]
        spans.sort(key=lambda span: span[3])
        return [[*span[:3], *(round(1e6 * value, 3) for value in (span[3] - self.begin, span[4]))] for span in spans[:MOST_SPANS]]

    def event(self):
        steps = self.steps.count - self.first
        rows = []
        for (layer, operation, phase), (calls, forward, backward, flops, flops_backward) in self.rows.items():
            if 1e3 * (forward + backward) / steps < LEAST_MS and not flops + flops_backward:
                continue
            rows.append(
                {
                    "layer": layer,
                    "op": operation,
                    "phase": phase,
                    "calls": calls,
                    "forward_ms": round(1e3 * forward / steps, 6),
                    "backward_ms": round(1e3 * backward / steps, 6),
                    "flops_forward": flops / steps,
                    "flops_backward": flops_backward / steps,
                }
            )
        done = self.steps.rows[-steps:]
        samples = sum(row[1] for row in done) / steps
        phases = [sum(row[3][phase] for row in done) / steps for phase in range(len(PHASES))]
        return {
            "event": "operations",
            "steps": steps,
            "samples": samples,
            "step_ms": round(1e3 * (self.steps.mark - self.begin - sum(row[4] for row in done)) / steps, 6),
            "ms": {name: round(1e3 * value, 6) for name, value in zip(PHASES, phases)},
            "rows": rows,
            "spans": self.trace(),
        }

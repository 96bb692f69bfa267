"""Operations of a few steps, by module: calls, time in both directions, FLOPs. What PyTorch dispatches below autograd is seen by a
dispatch mode; an operation of the backward pass belongs to the one of the forward pass whose sequence number its node has."""

from time import perf_counter

from torch._C._autograd import _get_sequence_nr
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from fieldtrial_steps import DATA, EVALUATION, FORWARD, LOSS, PHASES

# Below it an operation is no work: views and allocations are left out of the events, their time stays in the residual.
LEAST_MS = 0.001


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

    def __enter__(self):
        register = self.torch.nn.modules.module
        before = register.register_module_forward_pre_hook(lambda module, _: self.stack.append(module))
        after = register.register_module_forward_hook(lambda module, *_: self.leave(module), always_call=True)
        self.handles = [before, after]
        return super().__enter__()

    def __exit__(self, *raised):
        for handle in self.handles:
            handle.remove()
        return super().__exit__(*raised)

    def leave(self, module):
        if module in self.stack:
            del self.stack[self.stack.index(module) :]

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        named = named or {}
        active = self.steps.active
        is_apart = active[0] in (DATA, EVALUATION) if active is not None else self.steps.in_evaluation is not None
        if is_apart:
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
        is_backward = self.torch._C._current_graph_task_id() != -1
        if is_backward:
            node = self.torch._C._current_autograd_node()
            key = self.of_node.get(node._sequence_nr()) if node is not None else None
            key = key or ("", packet.__name__, "backward")
        else:
            phase = "optimizer" if self.steps.update_depth else "other"
            if active is not None:
                phase = {FORWARD: "forward", LOSS: "loss"}.get(active[0], phase)
            layer = self.names.get(self.stack[-1], type(self.stack[-1]).__name__) if self.stack else ""
            key = (layer, packet.__name__, phase)
            # The first operation below a node is the one that it differentiates.
            self.of_node.setdefault(_get_sequence_nr() - 1, key)
        row = self.rows.setdefault(key, [0, 0.0, 0.0, 0, 0])
        row[0] += not is_backward
        row[1 + is_backward] += seconds
        row[3 + is_backward] += flops
        return result

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
        }

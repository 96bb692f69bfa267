"""Observes the training of a PyTorch program that is not changed (docs/pytorch.md): hooks in torch tell `fieldtrial_steps` where
the phases of a step begin and end; events go to the file that FIELDTRIAL_EVENTS names (docs/worker-protocol.md).

The training is the same, bit by bit. Modules are hooked one by one, outermost ones only, and never while torch.compile traces
them. What fails here ends the observation with one warning, and never the program."""

import atexit
import functools
import json
import os
import sys
import time
from threading import get_ident

from fieldtrial_steps import BACKWARD, FORWARD, LOSS, Gpu, Steps

# The first step whose operations are observed, from 0.
OPERATIONS_FROM = 12


def install(torch, began):
    """Called once torch has been imported, by a program that began at `began`."""
    observer = Observer(torch, os.environ["FIELDTRIAL_OBSERVE"], os.environ["FIELDTRIAL_EVENTS"])
    observer.steps.began = began
    observer.install()


class Observer:
    def __init__(self, torch, folder, events):
        self.torch, self.folder, self.path = torch, folder, events
        self.is_grad_enabled, self.loss_class = torch.is_grad_enabled, torch.nn.modules.loss._Loss
        # PyTorch 2.1 and 2.2 have it elsewhere.
        self.is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or torch._dynamo.is_compiling
        with open(os.path.join(folder, "settings.json"), encoding="utf-8") as file:
            settings = json.load(file)
        self.steps = Steps(self.tell, settings["phase_steps"])
        self.steps.on_step = self.step_begins
        self.steps.is_inference = torch.is_inference_mode_enabled
        self.operations = settings["operations"]
        self.is_on, self.is_claimed = True, False
        self.thread = None  # that trains
        self.undo = []  # functions that take the hooks out again
        self.modules = []  # outermost ones, in the order of their first call
        self.optimizers = []
        self.profile = None
        self.has_operations = False
        self.lacking = []  # what this torch does not have

    # Events.

    def tell(self, event):
        """Appends an event. The first one claims the run: other processes of it (launchers, workers, ranks) stay unobserved."""
        if not self.is_claimed and not self.claim():
            return
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    def claim(self):
        try:
            os.close(os.open(os.path.join(self.folder, "claimed"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            self.end()
            return False
        self.is_claimed = True
        return True

    def end(self):
        self.is_on = False
        while self.undo:
            self.undo.pop()()

    def fail(self, error):
        """Ends the observation after an error of its own."""
        if not self.is_on:
            return
        try:
            self.end()
            line = error.__traceback__.tb_lineno if error.__traceback__ else 0
            message = f"the observer of PyTorch stopped after {self.steps.count} steps: {error!r} (line {line})"
            self.tell({"event": "warning", "message": message})
        except Exception as again:
            print(f"fieldtrial: not observed: {again!r}", file=sys.stderr)

    def safe(self, hook, *arguments):
        """What a hook returns; None where it fails."""
        try:
            return hook(*arguments)
        except Exception as error:
            self.fail(error)
            return None

    def trains_here(self):
        return self.is_on and (self.thread is None or self.thread == get_ident())

    # Hooks.

    def install(self):
        torch = self.torch
        parts = (self.hook_loader, self.hook_modules, self.hook_backward, self.hook_optimizers, self.hook_scaler)
        for part in parts:
            try:
                part(torch)
            except (AttributeError, ImportError) as error:
                self.lacking.append(f"{part.__name__[5:]}: {error}")
        os.register_at_fork(after_in_child=self.forked)
        # After what the program registers, which is called before.
        atexit.register(self.finish)

    def forked(self):
        self.is_on, self.is_claimed = False, True
        self.tell = self.steps.tell = lambda event: None

    def replace(self, owner, name, make):
        """Puts `make(what was there)` in the place of an attribute."""
        original = getattr(owner, name)
        new = functools.wraps(original)(make(original))
        setattr(owner, name, new)
        # Another tool may have put its own around it: then that stays, and this one only passes calls on.
        self.undo.append(lambda: setattr(owner, name, original) if getattr(owner, name) is new else None)

    def hook_loader(self, torch):
        from torch.utils.data import DataLoader
        from torch.utils.data.dataloader import _BaseDataLoaderIter

        steps = self.steps

        def make_next(original):
            def __next__(iterator):
                if not self.trains_here():
                    return original(iterator)
                token = self.safe(steps.fetch_begins, torch.is_grad_enabled())
                if token is None:
                    return original(iterator)
                samples, is_first, is_last = None, False, False
                try:
                    batch = original(iterator)
                    samples = self.safe(samples_of, batch, torch.Tensor) or 0
                    is_first = getattr(iterator, "_num_yielded", 0) == 1
                    is_last = self.safe(is_whole, iterator)
                    return batch
                finally:
                    self.safe(steps.fetch_ends, token, samples, is_first, is_last)

            return __next__

        def make_iter(original):
            def __iter__(loader):
                if not self.trains_here() or not torch.is_grad_enabled():
                    return original(loader)
                begin = time.perf_counter()
                iterator = original(loader)
                self.safe(steps.loader_starts_epoch, time.perf_counter() - begin)
                return iterator

            return __iter__

        self.replace(_BaseDataLoaderIter, "__next__", make_next)
        self.replace(DataLoader, "__iter__", make_iter)

    def hook_modules(self, torch):
        """All modules, until the first step is over: then those that were outermost get a hook of their own."""
        Module = torch.nn.Module
        original = Module.__call__
        is_compiling = self.is_compiling

        def __call__(module, *arguments, **named):
            if is_compiling() or not self.trains_here():
                return original(module, *arguments, **named)
            if self.steps.active is None and module not in self.modules:
                self.modules.append(module)
            # Inside, the class is as it was: torch.compile sees nothing of this. What others have put there stays.
            is_ours = Module.__call__ is __call__
            if is_ours:
                Module.__call__ = original
            try:
                return self.call(functools.partial(original, module), module, arguments, named)
            finally:
                if is_ours and self.is_on and not self.has_instances and Module.__call__ is original:
                    Module.__call__ = __call__

        self.has_instances = False

        def restore():
            if Module.__call__ is __call__:
                Module.__call__ = original

        self.restore_class = restore
        Module.__call__ = __call__
        self.undo.append(restore)

    def hook_instances(self):
        """Puts the class back, and hooks the outermost modules alone."""
        if self.has_instances:
            return
        self.has_instances = True
        self.restore_class()
        for module in self.modules:
            if hasattr(module, "_compiled_call_impl"):
                self.hook_instance(module)

    def hook_instance(self, module):
        """By the attribute through which torch calls a module compiled in place: it is neither saved nor copied."""
        inner = module._compiled_call_impl
        is_compiling = self.is_compiling

        def call_impl(*arguments, **named):
            function = inner or module._call_impl
            if is_compiling() or not self.trains_here():
                return function(*arguments, **named)
            return self.call(function, module, arguments, named)

        module._compiled_call_impl = call_impl
        self.undo.append(lambda: setattr(module, "_compiled_call_impl", inner))

    def call(self, function, module, arguments, named):
        """Calls an outermost module between the events of its phase."""
        steps = self.steps
        begin = phase = None
        with_gradients = self.is_grad_enabled()
        try:
            if with_gradients and module.training:
                phase = LOSS if isinstance(module, self.loss_class) else FORWARD
                has_begun = steps.begins(phase)
            else:
                begin = steps.evaluation_begins()
                has_begun = begin is not None
        except Exception as error:
            self.fail(error)
            has_begun = False
        try:
            return function(*arguments, **named)
        finally:
            if has_begun and phase is not None:
                self.safe(steps.ends)
            elif has_begun:
                self.safe(steps.evaluation_ends, begin, with_gradients)

    def hook_backward(self, torch):
        def make(original):
            def backward(*arguments, **named):
                if not self.trains_here() or not self.safe(self.steps.begins, BACKWARD):
                    return original(*arguments, **named)
                self.thread = get_ident()
                try:
                    return original(*arguments, **named)
                finally:
                    self.safe(self.steps.ends)

            return backward

        self.replace(torch.autograd, "backward", make)

    def hook_optimizers(self, torch):
        from torch.optim import optimizer

        Optimizer, is_compiling = optimizer.Optimizer, self.is_compiling
        if not hasattr(optimizer, "register_optimizer_step_post_hook"):
            raise AttributeError("this PyTorch has no `register_optimizer_step_post_hook` (2.1 or newer has)")
        original = Optimizer.profile_hook_step

        @staticmethod
        @functools.wraps(original)
        def profile_hook_step(function):
            """What PyTorch makes of the `step` of an optimizer's class, with all that it does around it."""
            hooked = original(function)

            @functools.wraps(hooked)
            def step(one, *arguments, **named):
                if is_compiling() or not self.trains_here():
                    return hooked(one, *arguments, **named)
                self.safe(self.update_begins, one)
                arguments, named = self.with_closure(arguments, named)
                try:
                    return hooked(one, *arguments, **named)
                finally:
                    self.safe(self.steps.update_ends, one)

            return step

        Optimizer.profile_hook_step = profile_hook_step
        self.undo.append(lambda: setattr(Optimizer, "profile_hook_step", staticmethod(original)))

    def with_closure(self, arguments, named):
        """The arguments of an optimizer's step, with a closure that tells when it runs: what it computes is no update."""
        if arguments and callable(arguments[0]):
            return (self.told_closure(arguments[0]), *arguments[1:]), named
        if callable(named.get("closure")):
            return arguments, {**named, "closure": self.told_closure(named["closure"])}
        return arguments, named

    def told_closure(self, closure):
        @functools.wraps(closure, updated=())
        def told(*arguments, **named):
            if not self.trains_here() or not self.safe(self.steps.closure_begins):
                return closure(*arguments, **named)
            try:
                return closure(*arguments, **named)
            finally:
                self.safe(self.steps.closure_ends)

        return told

    def hook_scaler(self, torch):
        """A scaler that finds gradients beyond 16 bits leaves the optimizer's step out; it is a step all the same."""

        def make(original):
            def step(scaler, one, *arguments, **named):
                if not self.trains_here():
                    return original(scaler, one, *arguments, **named)
                self.safe(self.update_begins, one)
                try:
                    return original(scaler, one, *arguments, **named)
                finally:
                    self.safe(self.steps.update_ends, one)

            return step

        scaler = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler
        self.replace(scaler, "step", make)

    # What happens between steps.

    def update_begins(self, optimizer):
        self.thread = get_ident()
        if optimizer not in self.optimizers:
            self.optimizers.append(optimizer)
            self.see_device(optimizer)
        if not self.is_claimed and not self.claim():
            return
        self.steps.update_begins(optimizer)

    def see_device(self, optimizer):
        on_gpu = any(value.is_cuda for group in optimizer.param_groups for value in group["params"])
        if on_gpu and self.steps.gpu is None:
            self.steps.gpu = Gpu(self.torch.cuda)

    def step_begins(self, number):
        """Step `number`, from 0, begins; those before it are over."""
        if number == 1:
            self.hook_instances()
            self.tell({"event": "started", "parameters": self.parameters()})
            self.count_ranks()
            self.import_profile()
            self.tell_lacking()
        wanted = range(OPERATIONS_FROM, OPERATIONS_FROM + self.operations)
        if number > wanted.stop:
            self.steps.on_step = None
            return
        if self.profile is not None and number not in wanted:
            self.end_profile()
        if self.profile is None and number in wanted:
            self.begin_profile()
        if number in wanted:
            self.steps.leave_out()
        if number == wanted.stop:
            # The step after them starts with cold caches.
            self.steps.leave_out()

    def count_ranks(self):
        """With `torch.distributed` this process trains with a share of the samples only."""
        distributed = self.torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            self.steps.ranks = distributed.get_world_size()

    def tell_lacking(self):
        for what in self.lacking:
            self.tell({"event": "warning", "message": f"not observed: {what}"})

    def import_profile(self):
        """At the first step, so that no measured step does it."""
        try:
            from fieldtrial_operations import Profile

            self.profile_class = Profile
        except ImportError as error:
            self.operations = 0
            self.tell({"event": "warning", "message": f"not observed: operations and FLOPs: {error}"})

    def parameters(self):
        """Values that the optimizers change."""
        values = {id(value): value for one in self.optimizers for group in one.param_groups for value in group["params"]}
        return sum(value.numel() for value in values.values())

    def begin_profile(self):
        dynamo = sys.modules.get("torch._dynamo")
        if dynamo is not None and dynamo.utils.counters["stats"].get("unique_graphs", 0):
            reason = "the program compiles modules (torch.compile), whose operations cannot be observed: no FLOPs, no operations"
            self.tell({"event": "warning", "message": reason})
            self.operations = 0
            return
        self.profile = self.profile_class(self.torch, self.steps, self.modules)
        self.profile.__enter__()
        self.undo.append(self.leave_profile)

    def leave_profile(self):
        if self.profile is not None:
            profile, self.profile = self.profile, None
            profile.__exit__(None, None, None)
            return profile
        return None

    def end_profile(self):
        profile = self.leave_profile()
        if profile is not None and self.steps.count > profile.first:
            self.tell(profile.event())
            self.has_operations = True

    def finish(self):
        """The interpreter ends."""
        if not self.is_on:
            return
        if not self.steps.count and self.steps.candidate is None:
            # It has trained all the same: what this torch lacks is the reason that no step was seen.
            if self.thread is not None:
                self.safe(self.tell_lacking)
            return
        try:
            self.end_profile()
            self.steps.finish()
            if self.operations and not self.has_operations:
                reason = f"the program ended after {self.steps.count} steps; they are those of step {OPERATIONS_FROM + 1}"
                self.tell({"event": "warning", "message": f"not observed: operations and FLOPs: {reason}"})
            if self.steps.gpu is not None:
                self.tell(self.steps.gpu.memory())
        except Exception as error:
            self.fail(error)
        self.end()


def is_whole(iterator):
    """Whether a loader has given all of its batches. Only PyTorch's samplers are asked for their length: one of the program may
    compute it, or draw random numbers."""
    batches = iterator._index_sampler
    for sampler in (batches, getattr(batches, "sampler", batches)):
        if not type(sampler).__module__.startswith("torch.") or not hasattr(type(sampler), "__len__"):
            return False
    return iterator._num_yielded == len(batches)


def samples_of(batch, tensor):
    """The first dimension of the first tensor in a batch; None where it has no tensor. A batch of graphs tells their number, since
    its tensors have all their nodes; one of sampled neighbours, the nodes that they were sampled for."""
    if isinstance(batch, tensor):
        return batch.shape[0] if batch.dim() else None
    for name in ("num_graphs", "batch_size"):
        try:
            number = getattr(batch, name, None)
        except Exception:  # a dictionary whose keys are attributes
            break
        if type(number) is int:
            return number
    if hasattr(batch, "values") and callable(batch.values):
        batch = batch.values()
    elif not isinstance(batch, (list, tuple)):
        return None
    for part in batch:
        found = samples_of(part, tensor)
        if found is not None:
            return found
    return None

"""Reports a run to Fieldtrial: copy this file beside your script. No dependencies; version 1 of docs/worker-protocol.md.

    import fieldtrial

    run = fieldtrial.order(lr=1e-3, width=64)       # values for when the script runs by itself
    for epoch in range(10):
        ...                                         # run.lr, run.seed, run.threads, run.device, run.folder
        fieldtrial.epoch(epoch, train_loss=..., val_loss=...)
    fieldtrial.finished(test_accuracy=...)
"""

import contextlib
import json
import os
import sys
import time

VERSION = 1

_order = None


class Order:
    """The order of a run: `run.lr` is the parameter `lr`; what else there is stands in docs/worker-protocol.md."""

    def __init__(self, values):
        self.key = values.get("key", "")
        self.seed = values.get("seed", 0)
        self.block = values.get("block", 0)
        self.threads = values.get("threads") or os.cpu_count() or 1
        self.device = values.get("device", "cpu")
        self.dataset = values.get("dataset")
        self.init_from = values.get("init_from")
        self.folder = values.get("folder") or "."
        self.verdicts = values.get("verdicts")
        self.parameters = values.get("parameters", {})

    def __getattr__(self, name):
        try:
            return self.__dict__["parameters"][name]
        except KeyError:
            raise AttributeError(f"there is no parameter {name!r}") from None


def order(**defaults):
    """The order of this run. Without Fieldtrial, `defaults` are the parameters."""
    global _order
    path = os.environ.get("FIELDTRIAL_ORDER")
    values = {"parameters": defaults}
    if path:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        if values["version"] != VERSION:
            sys.exit(f"fieldtrial.py is of version {VERSION}, the order of version {values['version']}")
        values["parameters"] = {**defaults, **values["parameters"]}
    _order = Order(values)
    return _order


def _tell(event):
    line = json.dumps(event)
    path = os.environ.get("FIELDTRIAL_EVENTS")
    if not path:
        print(line, flush=True)
        return
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def started(**values):
    """Before training: `epochs`, `steps_per_epoch`, `parameters` (how many values the model learns). For progress."""
    _tell({"event": "started", **values})


def progress(epoch, step, loss=None):
    """In an epoch, as often as you like to write."""
    _tell({"event": "progress", "epoch": epoch, "step": step, "loss": loss})


def epoch(epoch, **metrics):
    """After an epoch: `train_loss`, `lr` and the declared metrics. Ends the program where a search has had enough."""
    _tell({"event": "epoch", "epoch": epoch, **metrics})
    while _order is not None and _order.verdicts:
        with open(_order.verdicts, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
        found = [line["verdict"] for line in lines if line["epoch"] == epoch]
        if "stop" in found:
            sys.exit(0)
        if found:
            return
        time.sleep(0.005)


def finished(**metrics):
    """At the end: the declared metrics, and `parameters`, `steps`, `samples` if you know them."""
    _tell({"event": "finished", **metrics})


@contextlib.contextmanager
def phase(name):
    """Names a part of a step, `with fieldtrial.phase("augment"):`, as a layer of `ops.csv` and in the trace. It does nothing
    but where `observe = "pytorch"` and `measure.ops` observe operations."""
    profile = getattr(sys.modules.get("fieldtrial_operations"), "current", None)
    with contextlib.nullcontext() if profile is None else profile.part(str(name)):
        yield

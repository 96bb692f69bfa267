"""Comes first on `PYTHONPATH` of a program that Fieldtrial observes (docs/pytorch.md): waits until the program imports torch,
and goes on to the user's own `sitecustomize`. A program that never imports torch only pays for this file."""

import os
import sys
from time import perf_counter

_BEGAN = perf_counter()


class _AfterImport:
    """A finder that finds nothing by itself: it lets the others find torch, and calls the observer once torch is loaded."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                try:
                    import fieldtrial_observe

                    fieldtrial_observe.install(module, _BEGAN)
                except Exception as error:
                    print(f"fieldtrial: not observed: {error!r}", file=sys.stderr)

            spec.loader.exec_module = exec_module
        return spec


def _observe():
    folder = os.environ.get("FIELDTRIAL_OBSERVE")
    # Workers of a loader and other children start after the process that trains has claimed the run; ranks above 0 never do.
    if folder and os.environ.get("RANK", "0") == "0" and not os.path.exists(os.path.join(folder, "claimed")):
        sys.meta_path.insert(0, _AfterImport())


def _go_on():
    """Executes the `sitecustomize` that would have been found without this one."""
    from _frozen_importlib_external import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path) != here])
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


_observe()
_go_on()

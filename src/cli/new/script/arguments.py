"""Prints the arguments of a script that uses argparse, as JSON after a mark, and ends before the script does anything with them."""

import argparse
import json
import math
import os
import runpy
import sys


def actions(parser):
    """The actions of a parser, and those of the subcommand that the arguments name."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            chosen = [word for word in sys.argv[1:] if word in action.choices]
            yield from actions(action.choices[chosen[0]]) if chosen else ()


def tell(parser, *_, **__):
    found = []
    for action in actions(parser):
        if isinstance(action, (argparse._HelpAction, argparse._VersionAction)):
            continue
        default = action.default if isinstance(action.default, (int, float, str, bool)) else None
        if isinstance(default, float) and not math.isfinite(default):
            default = None
        options = [one for one in action.option_strings if one.startswith("--") or len(action.option_strings) == 1]
        option = max(options or action.option_strings, key=len, default="")
        # `--x` and `--no-x`: the one that changes the default.
        is_pair = isinstance(action, getattr(argparse, "BooleanOptionalAction", ()))
        if is_pair:
            option = next(one for one in options if one.startswith("--no-") == bool(action.default))
        choices = [str(choice) for choice in action.choices] if action.choices else []
        found.append(
            {
                "option": option,
                "name": action.dest,
                "kind": getattr(action.type, "__name__", "") if action.type else "",
                "default": default,
                "choices": choices,
                "is_flag": is_pair or isinstance(action, (argparse._StoreTrueAction, argparse._StoreFalseAction)),
                "is_required": bool(action.required),
                "help": action.help or "",
            }
        )
    print("\n@arguments@" + json.dumps(found), flush=True)
    os._exit(0)


argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_known_args = tell
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name="__main__")

"""Prints the files that a script imports from its own folder, the programs and settings files that they name, and the pattern of
Hydra's settings (`config_path`), as JSON after a mark, relative to that folder. Runs none of them."""

import ast
import json
import os
import sys
from modulefinder import ModuleFinder

NAMED = (".py", ".yaml", ".yml", ".toml", ".ini", ".cfg")

folder = os.path.dirname(os.path.abspath(sys.argv[1]))
finder = ModuleFinder(path=[folder])
finder.run_script(sys.argv[1])
sources = {os.path.abspath(module.__file__) for module in finder.modules.values() if module.__file__}
found = set(sources)
for source in sources:
    if not source.endswith(".py"):
        continue
    with open(source, "rb") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(NAMED):
            path = os.path.abspath(os.path.join(folder, node.value))
            if os.path.isfile(path):
                found.add(path)
        if isinstance(node, ast.keyword) and node.arg == "config_path" and isinstance(node.value, ast.Constant):
            path = os.path.abspath(os.path.join(os.path.dirname(source), node.value.value or "."))
            # Hydra's own copies of the settings (`outputs`) are in folders beside the script.
            if os.path.isdir(path):
                found.add(os.path.join(path, "*.yaml" if path == folder else "**/*.yaml"))
print("\n@files@" + json.dumps(sorted(os.path.relpath(path, folder) for path in found)))

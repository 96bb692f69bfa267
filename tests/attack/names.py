"""Hostile names in arguments and manifests: refused, or written so that pages and tables stay what they are."""

import html
import re

import properties
from harness import Violation
from projects import MANIFEST, TINY, copy, finished

SCRIPT = "<script>alert(7)</script>"
# Names with characters that HTML, Markdown, CSV, spreadsheets, terminals, shells and file systems interpret.
NAMES = [
    SCRIPT, "<img src=x onerror=alert(7)>", "\"><svg onload=alert(7)>", "'", '"', '""', "a,b", "a\nb", "a\r\nb", "\t",
    "\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "\0", "\x7f", "=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0",
    "|", "||", "a|b", "`", "```", "*x*", "_x_", "[x](javascript:alert(7))", "![x](http://127.0.0.1/x)", "# x", "- x",
    "1. x", "> x", "\\", "\\n", "&lt;", "&amp;", "&", "../../x", "..", ".", "/", "/tmp/fieldtrial-attack-outside",
    "~", "$HOME", "$(id)", "`id`", ";id", "*", "?", "{}", "{{ report }}", "{% raw %}", "%s%n", "-", "--help", "--",
    "", " ", "  x  ", "ä漢🦀", "e\u0301", "\u202egpj.exe", "\u2066x\u2069", "\ufeff", "\u2028", "\u00a0", "x" * 300,
    "x" * 5000, "ä" * 200, "a=b", "a=1,b=2", "model=mlp", "CON", "nul", "a:b", "</details>", "</table>", "<!--",
    "]]>", "</script>", "</style>", "<!-- x -->", "\U0010ffff", "\u0085", "templates", "bench", ".store", "runs.csv",
]


def quoted(name):
    """A TOML string; what cannot stand in one is left out."""
    escaped = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x7f": "\\u007f"}
    return '"' + "".join(escaped.get(sign, f"\\u{ord(sign):04x}" if sign < " " else sign) for sign in name) + '"'


def argument(name):
    """A name as an argument: no zero bytes."""
    return name.replace("\0", "")


def manifest(case):
    """A manifest in which some names are hostile, and the places of them."""
    random = case.random
    text = TINY
    for _ in range(random.choice([1, 1, 2, 3])):
        name = random.choice(NAMES)
        place = random.choice([
            "title", "question", "name", "model", "dataset", "variant", "axis", "value", "unit", "report", "compare",
            "save", "key", "matrices",
        ])
        case.note(f"{place} {ascii(name[:60])}")
        text = named(random, text, place, quoted(name))
    return text


def named(random, text, place, name):
    """The manifest with this name, a TOML string, at this place."""
    if place == "name":
        return text.replace('name = "tiny"', f"name = {name}")
    if place in ("title", "question"):
        return f"{place} = {random.choice([name, f'{{ en = {name}, de = {name} }}'])}\n" + text
    if place == "model":
        return text.replace("[models.mlp]", f"[models.{name}]").replace('model = ["mlp"]', f"model = [{name}]")
    if place == "dataset":
        return text.replace("[datasets.plane]", f"[datasets.{name}]").replace('dataset = ["plane"]', f"dataset = [{name}]")
    if place == "variant":
        variants = f'\n[variants.{name}]\n"train.clip" = 1.0\n[variants.other]\n"train.clip" = 2.0\n'
        text = text.replace("batch-size = [8, 16]", f'variant = [{name}, "other"]\nbatch-size = [8]')
        return text + variants + '\n[compare]\ntreatment = "variant"\n'
    more = {
        "axis": f"\n[matrix.zip]\n{name} = [1, 2]\n", "value": f'\n[losses.{name}]\nkind = "mse"\n',
        "key": f"\n[limits]\n{name} = 1\n",
        "unit": f"\n[cost]\ncurrency = {name}\n", "report": f'\n[report]\ntemplates = ["analysis", {name}]\n',
        "compare": f"\n[compare]\ntreatment = {name}\n",
    }
    if place in more:
        return text + more[place]
    if place == "save":
        return text.replace("epochs = 2", f"epochs = 2\nsave-to = {name}")
    return text.replace("[matrix]", f"[[matrices]]\nname = {name}")


def in_manifest(case):
    """Runs, reports and compares a manifest with hostile names."""
    case.write(MANIFEST, manifest(case))
    ended = case.run("run", MANIFEST, *case.random.choice([[], ["--verbose"], ["--format", "json"]]))
    properties.ends_well(ended)
    for results in sorted((case.project / "reports").glob("*")):
        for command in (["plan", MANIFEST], [
            "report", str(results), "--template", "profiling",
        ], ["compare", str(results), str(results), "--out", str(results / "out")]):
            properties.ends_well(case.run(*command), codes=(0, 1, 2, 3, 4))
        for folder in (results, results / "out"):
            properties.files_are_plain(folder)
            pages_are_escaped(folder)


def in_arguments(case):
    """Hostile names as arguments of every command."""
    random = case.random
    copy(finished(case, "tiny"), case.project)
    name = argument(random.choice(NAMES))
    case.note(ascii(name[:60]))
    command = random.choice([
        ["run", MANIFEST, f"--as={name}"], ["run", MANIFEST, f"--only={name}"],
        ["run", MANIFEST, f"--only=batch-size={name}"], ["run", MANIFEST, f"--set={name}"],
        ["run", MANIFEST, f"--set={name}=1"], ["run", MANIFEST, f"--set=title={name}"],
        ["run", MANIFEST, f"--set=models.mlp.hidden={name}"], ["run", name], ["run", MANIFEST, f"--jobs={name}"],
        ["run", MANIFEST, f"--shard={name}"], ["plan", name], ["plan", MANIFEST, f"--explain={name}"],
        ["plan", MANIFEST, f"--only={name}"], ["report", name], ["report", "tiny", f"--template={name}"],
        ["report", "tiny", f"--lang={name}", "--template=comparison"], ["compare", name], ["compare", "tiny", name],
        ["compare", "tiny", f"--along={name}"], ["compare", "tiny", "--along=batch-size", f"--before={name}"],
        ["merge", name], ["status", name], ["list", name], ["list", "model", MANIFEST, name], ["new", name],
        ["new", "x", f"--data={name}"], ["completions", name], ["helper", name], ["textconv", name],
        ["verify", name, "--model=x", "--reference=y"],
        ["verify", MANIFEST, f"--model={name}", f"--reference={name}"],
        ["check-command", MANIFEST, f"--model={name}"], ["ab", name, MANIFEST], ["schema", name], [name],
        ["submit", name], ["run", MANIFEST, f"--max-failures={name}"], ["compare", "tiny", "tiny", f"--only={name}"],
    ])
    ended = case.run(*command)
    properties.ends_well(ended, codes=(0, 1, 2, 3, 4))


def pages_are_escaped(results):
    """No page has a name as markup."""
    for path in sorted(results.glob("*.html")):
        text = path.read_text()
        for wrong in (SCRIPT, "<img src=x", "<svg onload"):
            if wrong in text:
                raise Violation("markup", f"{path.name} has {wrong} as markup")
        link = re.search(r'(?:href|src)="([^"]*)"', text.replace("&quot;", ""))
        if link and html.unescape(link.group(1)).strip().lower().startswith("javascript:"):
            raise Violation("markup", f"{path.name} has a link that is a script")


def case(case):
    """One manifest or one command with hostile names."""
    case.open()
    before = properties.tree(case.root)
    if case.random.random() < 0.5:
        in_manifest(case)
    else:
        in_arguments(case)
    after = properties.tree(case.root, without=[case.project])
    kept = {path: value for path, value in before.items() if path in after}
    properties.is_untouched(kept, after, case.root)
    top = {path.name for path in case.project.iterdir()} - {"experiments", "reports"}
    if top - {"seconds"}:
        raise Violation("outside", f"{ascii(sorted(top)[0])} was made beside the results")

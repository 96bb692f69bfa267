"""Hostile templates of a user: `report` ends in bounded memory and time, and reads nothing outside of their folder."""

import properties
from harness import GIGABYTE, Violation
from mutate import change_bytes
from projects import REPOSITORY, copy, finished

SECRET = "attack-secret-9f2c"
SECONDS = 90
RESULTS = "reports/tiny"

# `N` is a number, `P` a path, `S` a short text.
FRAGMENTS = [
    "{% for a in range(N) %}{% for b in range(N) %}{% for c in range(N) %}x{% endfor %}{% endfor %}{% endfor %}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('S') }}",
    "{% include 'evil.md.j2' %}", "{% extends 'evil.md.j2' %}", "{% import 'evil.md.j2' as e %}{{ e }}",
    "{% include 'P' %}", "{% extends 'P' %}", "{% from 'P' import x %}{{ x }}",
    "{% include ['P', 'P'] ignore missing %}",
    "{% set ns = namespace(s='S') %}{% for i in range(N) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s | length }}",
    "{% set ns = namespace(s=[1]) %}{% for i in range(N) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s | length }}",
    "{% set ns = namespace(s='S') %}{% for i in range(N) %}{% set ns.s = ns.s | replace('', ns.s) %}{% endfor %}{{ ns.s }}",
    "{{ 'S' * N }}", "{{ N * 'S' }}", "{{ [1] * N }}", "{{ range(N) | list | length }}",
    "{{ range(N) | join('S') | length }}", "{{ '%Nd' | format(1) }}", "{{ '%.Nf' | format(1.5) }}",
    "{{ 'S' | center(N) }}", "{{ 'S' | indent(N) }}", "{{ 1.5 | round(N) }}", "{{ range(N) | batch(N) }}",
    "{{ range(N) | slice(N) }}", "{{ [1, 2] | batch(0) }}", "{{ [1, 2] | slice(0) }}", "{{ 'S' | truncate(N) }}",
    "{{ N ** N }}", "{{ 2 ** N }}", "{{ N * N }}", "{{ N // 0 }}", "{{ N % 0 }}", "{{ -9223372036854775808 // -1 }}",
    "{{ 'S'[N:N:-1] }}", "{{ 'S'[::0] }}", "{{ [1, 2, 3][-N:N] }}", "{{ report | tojson(indent=N) }}", "{{ report }}",
    "{{ report | pprint }}", "{{ debug() }}", "{{ report.themes | map(attribute='sections') | sum(start=[]) }}",
    "{{ report | items | list | sort | unique }}", "{{ self }}", "{{ loop }}", "{{ report | attr('__class__') }}",
    "{{ ''.__class__.__mro__ }}", "{{ dict(a=1) | dictsort(by='S') }}", "{{ caller() }}",
    "{% block a %}{{ self.a() }}{% endblock %}", "{% call x() %}{% endcall %}", "{% raw %}", "{{", "{%", "{#",
    "{{ }}", "{% endif %}", "{{ (((((((((((((((((((((((((((((((((((((((1 }}", "{% for x in %}", "{{ 'S",
    "{% if N %}{% else %}", "{{ report.titel }}", "{{ a.b.c.d }}", "{{ '\x1b[31m' }}", "{{ '\\u0000' }}", "\0",
    "\x1b]0;t\x07", "<script>alert(7)</script>", "{{ '<script>' | safe }}", "{% autoescape false %}x",
    "{{ range(1, N, 0) }}", "{{ range(N, -N, -1) | length }}", "{{ lipsum(N) }}", "{{ cycler(1).next() }}",
    "{{ 'S' | urlencode * 2 }}", "{% for a in range(N) recursive %}{{ loop([a]) }}{% endfor %}",
    "{% set report = 1 %}{{ report }}", "{{ 'S' | wordwrap(0) }}",
]
NUMBERS = ["0", "1", "3", "30", "64", "1000", "100000", "99999999", "2147483648", "9223372036854775807", "-1", "1e308"]
PATHS = [
    "../secret.md.j2", "../../secret.md.j2", "/SECRET", "./../../secret.md.j2", "sub/../../../secret.md.j2",
    "link.md.j2", "folder/secret.md.j2", "..\\\\secret.md.j2", "SECRET", "/etc/passwd", "", ".", "..", "\\u0000",
    "pipe.md.j2", "zero.md.j2", "macros.md.j2", "layout.html.j2", "S",
]
TEXTS = ["x", "abc", "ä🦀", "", "<b>", "=1+1|`*"]


def deep(random):
    """Many levels of one construct."""
    number = random.choice([50, 400, 5000, 100_000])
    left, middle, right = random.choice([
        ("(", "1", ")"), ("[", "1", "]"), ("-", "1", ""), ("not ", "1", ""), ("{'a': ", "1", "}"), ("1 + ", "1", ""),
        ("a.", "b", ""), ("", "1", "|abs"), ("1 if 1 else ", "1", ""), ("f(", "1", ")"),
    ])
    if random.random() < 0.3:
        return "{% if 1 %}" * number + "x" + "{% endif %}" * number
    return "{{ " + left * number + middle + right * number + " }}"


def filled(random, part, secret):
    """A fragment with numbers, paths and texts in the places of its letters."""
    for letter, choices in (("S", TEXTS), ("N", NUMBERS), ("P", PATHS)):
        pieces = part.split(letter)
        part = pieces[0]
        for piece in pieces[1:]:
            part += random.choice(choices) + piece
    return part.replace("SECRET", str(secret))


def template(random, secret):
    """The text of a template from one to three fragments."""
    parts = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        part = deep(random) if random.random() < 0.1 else filled(random, random.choice(FRAGMENTS), secret)
        parts.append(part)
    return "{# Hostile. #}\n" + "\n".join(parts) + "\n"


def content(case, secret):
    """The bytes of a template: of fragments, or a mutant of a shipped one."""
    random = case.random
    if random.random() < 0.15:
        path = random.choice(sorted((REPOSITORY / "reports/templates").glob("*.j2")))
        found = path.read_bytes()
        for _ in range(random.choice([1, 2, 5])):
            found = change_bytes(random, found)
        return found
    found = template(random, secret).encode("utf-8", "surrogatepass")
    return change_bytes(random, found) if random.random() < 0.1 else found


def case(case):
    """Renders finished results with one hostile template."""
    case.open()
    random = case.random
    copy(finished(case, "tiny"), case.project)
    secret = case.root / "secret.md.j2"
    for path in (secret, case.project / "secret.md.j2", case.project / "reports/secret.md.j2"):
        path.write_text(SECRET)
    folder = case.project / "reports/templates"
    folder.mkdir()
    folder.joinpath("link.md.j2").symlink_to(secret)
    folder.joinpath("folder").symlink_to(case.root)
    if random.random() < 0.1:
        folder.joinpath("zero.md.j2").symlink_to("/dev/zero")
    name = random.choice(["evil.md.j2", "evil.md.j2", "evil.html.j2", "analysis.md.j2", "macros.md.j2"])
    folder.joinpath(name).write_bytes(content(case, secret))
    case.note(ascii(folder.joinpath(name).read_bytes()[:500]))
    results = case.project / RESULTS
    before = properties.tree(case.root, without=[results])
    for command in (["report", "tiny", "--template", "evil" if "evil" in name else "analysis"], ["list", "templates"]):
        properties.ends_well(case.run(*command, seconds=SECONDS, memory=4 * GIGABYTE), codes=(0, 2))
    keeps_secrets(results)
    properties.is_untouched(before, properties.tree(case.root, without=[results]), case.root)


def keeps_secrets(results):
    """No file from outside of the templates' folder is in a report."""
    for path in results.glob("report*"):
        if SECRET.encode() in path.read_bytes():
            raise Violation("secret", f"{path.name} has a file from outside of the templates' folder")

"""Changes to texts and bytes: by the grammar of TOML, and without one."""

import re

# Values that a manifest's author would not write, as TOML.
VALUES = [
    "0", "-1", "1", "-0.0", "1e308", "-1e308", "1e-320", "nan", "-nan", "inf", "-inf", "0.5", "2", "3.0",
    "9223372036854775807", "-9223372036854775808", "18446744073709551616", "4294967296", "2147483648", "100000",
    "0x7fffffffffffffff", "1_000_000_000_000", "true", "false", '""', "''", '"x"', "[]", "{}", "[[]]", "[{}]",
    "[0, -1]", "[nan]", '["a", 1, true]', "1979-05-27T07:32:00Z", "07:32:00", '"../../../.."', '"/"', '"."',
    '"/dev/zero"', '"/dev/null"', '"/proc/self/mem"', r'"\u001b[31mred"', r'"\u0000"', r'"a\nb\rc\td"',
    r'"\u202Egpj"', r'"\u009b31m"', '"=1+1"', '"<script>alert(7)</script>"', '"|`*_[]()#"', '"cuda:4294967296"',
    '"ä漢🦀"', "'''\nlong\n'''", '{ kind = "mlp" }', '{ kind = "none" }', "{ int = [5, 1] }",
    "{ float = [0.0, 1.0], log = true }", "{ float = [nan, inf] }", "{ int = [1, 9223372036854775807] }",
    "{ choice = [] }", "{ a.b.c = 1 }", '{ conv = "width", kernel = 0 }', '{ linear = "classes / 0" }',
]

# Expressions of declared layers.
EXPRESSIONS = [
    "1 / 0", "0 * width", "-width", "width - 1000000", "9223372036854775807 + 1",
    "9223372036854775807 * 9223372036854775807", "width * width * width * width", "((((width))))",
    "(" * 200 + "1" + ")" * 200, "(" * 20000, "1" + " + 1" * 5000, "here.features / 3", "here.nothing", "width.width",
    "width %", "* 2", "", " ", "1e400", "0.1", "-9223372036854775808 / -1", "classes * 1000000007", "breadth",
    "w" * 5000, "1 2", "ä", "\u202e1", "2 ** 64", "--1", "min(1, 2)", "here", "depth / depth",
]

VALUE = re.compile(r"""(?<==\s)(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\[[^\]\n]*\]|\{[^}\n]*\}|[^\s,#\]}]+)""")
ATOM = re.compile(r"""(?<=[\s=\[{,])(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[-+]?[0-9][0-9_.eE+-]*|true|false)(?=[\s,\]}]|$)""")
KEY = re.compile(r"""(?:^|(?<=[{,]\s))(?:[A-Za-z0-9_.-]+|"[^"\n]*")(?=\s*=)""", re.MULTILINE)
HEADER = re.compile(r"^\[+[^\]\n]*\]+", re.MULTILINE)
LAYER = re.compile(r'"[^"\n]*(?:width|here\.|classes|depth)[^"\n]*"')


def replace(random, text, pattern, by):
    """Replaces one match of a pattern, if there is any; `by` gets what stood there."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    return text[: match.start()] + by(match.group()) + text[match.end() :]


def mistyped(random, word):
    """A word with a slip: letters swapped, dropped, doubled, another one, or something stranger."""
    at = random.randrange(len(word) or 1)
    return random.choice([
        word[:at] + word[at + 1 :], word[:at] + word[at : at + 1] * 2 + word[at + 1 :],
        word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :],
        word[:at] + random.choice("qzx_-9") + word[at:], word.upper(), f'"{word}.{word}"', f"{word}.a.b", "ä", '""',
        f'"{word * random.choice([2, 500])}"', r'"\u001b[2J"', r'"\u0000"', r'"a\nb"', "a.b.c.d.e",
    ])


def value(random, old, others):
    """Another value: from the list, from elsewhere in the file, or a very long, deep or wide one."""
    kind = random.randrange(12)
    if kind == 0:
        return '"' + random.choice(["x", "ä", "\\n", "<b>"]) * random.choice([300, 70_000]) + '"'
    if kind == 1:
        depth = random.choice([3, 60, 500, 20_000])
        return "[" * depth + random.choice(["", "1"]) + "]" * random.choice([depth, depth - 1])
    if kind == 2:
        depth = random.choice([3, 60, 2000])
        return "{ a = " * depth + "1" + " }" * depth
    if kind == 3:
        numbers = [random.choice([number, number // 2, -number]) for number in range(random.choice([3, 2000]))]
        return "[" + ", ".join(map(str, numbers)) + "]"
    if kind == 4:
        return "[" + old + ", " + random.choice([old, "1", '"x"']) + "]"
    if kind in (5, 6, 7) and others:
        return random.choice(others)
    return random.choice(VALUES)


def change_line(random, text):
    """Deletes, doubles, swaps, joins, indents or comments out lines."""
    lines = text.split("\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    kind = random.randrange(7)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    elif kind == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == 3:
        lines[one : one + 2] = ["".join(lines[one : one + 2])]
    elif kind == 4:
        lines[one] = random.choice(["#", " ", "\t", "[", "]", "= "]) + lines[one]
    elif kind == 5:
        lines.insert(other, lines.pop(one))
    else:
        del lines[min(one, other) : max(one, other)]
    return "\n".join(lines)


def change_section(random, text):
    """Deletes, doubles, moves or renames a whole section."""
    starts = [match.start() for match in HEADER.finditer(text)]
    if len(starts) < 2:
        return text
    parts = [text[: starts[0]]] + [text[a:b] for a, b in zip(starts, starts[1:] + [len(text)])]
    one, other = random.randrange(1, len(parts)), random.randrange(1, len(parts))
    kind = random.randrange(6)
    if kind == 0:
        del parts[one]
    elif kind == 1:
        parts.insert(other, parts[one])
    elif kind == 2:
        parts[one], parts[other] = parts[other], parts[one]
    elif kind == 3:
        parts[one] = HEADER.sub(lambda head: f"[{mistyped(random, head.group().strip('[]'))}]", parts[one], count=1)
    elif kind == 4:
        parts[one] = HEADER.sub(lambda head: f"[{head.group()}]", parts[one], count=1)
    else:
        own, another = HEADER.match(parts[one]).group(), HEADER.match(parts[other]).group()
        parts[one] = another + parts[one][len(own) :]
    return "".join(parts)


def change_value(random, text):
    """Replaces a value of a key."""
    others = VALUE.findall(text)
    return replace(random, text, VALUE, lambda old: value(random, old, others))


def change_atom(random, text):
    """Replaces a number, a string or a truth value, also within lists and tables."""
    others = ATOM.findall(text)
    return replace(random, text, ATOM, lambda old: value(random, old, others))


def change_key(random, text):
    """Mistypes a key, or gives it the name of another."""
    keys = KEY.findall(text)
    return replace(random, text, KEY, lambda old: random.choice(keys) if random.random() < 0.3 else mistyped(random, old))


def change_expression(random, text):
    """Replaces an expression of a layer; without layers, a value."""
    if not LAYER.search(text):
        return change_atom(random, text)
    return replace(random, text, LAYER, lambda old: f'"{random.choice(EXPRESSIONS)}"')


def add_lines(random, text):
    """Adds keys or sections, few or many, somewhere."""
    lines = text.split("\n")
    number = random.choice([1, 1, 5, 5, 30, 30, 30, 150, 150, 150] * 3 + [3000])
    shape = random.choice([
        "wrong-{} = 1", "[wrong.s{}]", "[models.m{}]\nkind = \"mlp\"", "[[matrices]]\nname = \"m{}\"", "a{} = [",
        "[variants.v{}]\n\"train.epochs\" = -1", "\"train.x{}\" = [1, 2]", "[datasets.d{}]\nkind = \"digits\"",
        "[search.space]\n\"models.{}.x\" = [1]", "wrong{}.a.b.c = 1", "'{}' = [1, 2, 3, 4]",
    ])
    lines.insert(random.randrange(len(lines) + 1), "\n".join(shape.format(index) for index in range(number)))
    return "\n".join(lines)


def change_text(random, text):
    """One change of a manifest."""
    changes = [change_line, change_section, change_value, change_value, change_atom, change_atom, change_key, change_expression]
    return random.choice([*changes, add_lines])(random, text)


def change_bytes(random, content):
    """One change of any file: bytes flipped, removed, added, copied, cut off."""
    content = bytearray(content)
    size = len(content)
    at = int(random.random() * size)
    length = random.choice([1, 2, 4, 16, 200])
    kind = random.randrange(8)
    if kind == 0 and size:
        content[at] ^= 1 << random.randrange(8)
    elif kind == 1:
        del content[at : at + length]
    elif kind == 2:
        content[at:at] = random.randbytes(length)
    elif kind == 3:
        del content[at:]
    elif kind == 4:
        content[at:at] = content[at : at + length] * random.choice([1, 2, 50])
    elif kind == 5:
        content[at:at] = random.choice([b"\0", b"\x1b[31m", b"\xff", b"\r", b"\xc2\x9b", "\u202e".encode(), b"\xef\xbb\xbf"])
    elif kind == 6:
        content[at : at + length] = random.randbytes(len(content[at : at + length]))
    elif size:
        content[at] = random.choice(b"0123456789-+.eE,;\"'[]{}\n\0\x7f\xff")
    return bytes(content)

"""Text as the model reads it; preparation.json has the vocabulary."""

import json
from pathlib import Path

import torch

SPEC = json.loads(Path(__file__).with_name("preparation.json").read_text(encoding="utf-8"))
NUMBERS = {token: number for number, token in enumerate(SPEC["vocabulary"])}


def prepare(text):
    """Numbers (T,) of the tokens of a text; one that training lacked is "unknown", or an error where the model has no such number."""
    tokens = list(text.encode()) if SPEC["tokens"] == "bytes" else [ord(character) for character in text]
    if SPEC["has_unknown"]:
        return torch.tensor([NUMBERS.get(token, len(NUMBERS)) for token in tokens])
    return torch.tensor([NUMBERS[token] for token in tokens])


def finish(numbers):
    """The text of some tokens."""
    tokens = [SPEC["vocabulary"][number] for number in numbers if number < len(NUMBERS)]
    return bytes(tokens).decode(errors="replace") if SPEC["tokens"] == "bytes" else "".join(map(chr, tokens))

"""Whatever text the tools are given, they answer with a diagnostic, never with a traceback."""

import random
import re
from pathlib import Path

import pytest
from xdsl.utils.exceptions import DiagnosticException

from tilewright.dialects.registry import new_context
from tilewright.frontend.tools.tool_io import chunks, parse_module, verify_input
from tilewright.passes.manager import module_text

TEST = Path(__file__).parents[1]
TOKEN = re.compile(r'"[^"]*"|[%@#!^]?[\w.$]+|\S')
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
JUNK = ("-1", "0", "99999999999999999999", '""', "[]", "{}", "<>", "f32", "?", "%x")


def sources() -> list[str]:
    files = [p for p in sorted(TEST.rglob("*.mlir")) if "importroot" not in p.parts]
    texts = [COMMENT.sub("", part) for p in files for part in chunks(p.read_text(), split=True)]
    return [text for text in texts if len(TOKEN.findall(text)) > 5]


def mutated(text: str, rng: random.Random) -> str:
    """Drop, replace or double one token, or put junk in its place."""
    tokens = list(TOKEN.finditer(text))
    token, other = rng.choice(tokens), rng.choice(tokens)
    new = rng.choice(["", other[0], f"{token[0]} {token[0]}", rng.choice(JUNK)])
    return text[: token.start()] + new + text[token.end() :]


@pytest.mark.parametrize("seed", range(8))
def test_mutated_text_gives_diagnostics_only(seed: int) -> None:
    rng, texts = random.Random(seed), sources()
    for _ in range(100):
        text = mutated(rng.choice(texts), rng)
        try:
            module = parse_module(new_context(), text, "mutated")
            verify_input(module, "mutated")
        except DiagnosticException:
            continue
        module_text(module)

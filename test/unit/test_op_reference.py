"""docs/ops.md is what the dialects say."""

from pathlib import Path

from tilewright.dialects.registry import OWN_DIALECTS, dialect
from tilewright.frontend.tools.op_reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "ops.md"


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference(), "run `make docs`"


def test_every_op_is_documented() -> None:
    undocumented = [op.name for w in OWN_DIALECTS.values() for op in dialect(w).operations if not op.__doc__]
    assert undocumented == []

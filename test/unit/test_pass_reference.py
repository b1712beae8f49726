"""docs/passes.md is what the passes say."""

from pathlib import Path

from tilewright.frontend.tools.pass_reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "passes.md"


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference(), "run `make docs`"

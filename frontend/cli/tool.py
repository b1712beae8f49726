"""Subcommands that are tools of their own, with argparse: the shell completes their words, too."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence

import click
from click.shell_completion import CompletionItem

from tilewright.passes.registry import pass_names
from tilewright.targets.registry import known_languages, pipeline_names

_VALUES: Mapping[str, Callable[[], Sequence[str]]] = {
    "-p": pass_names,
    "--passes": pass_names,
    "--pipeline": pipeline_names,
    "--to": known_languages,
}


class Tool(click.Command):
    """Hands all its words to `main`, whose options `parser` knows."""

    def __init__(self, main: Callable[[Sequence[str]], int], parser: Callable[[], ArgumentParser]) -> None:
        def run(words: Sequence[str]) -> None:
            click.get_current_context().exit(main(words))

        words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, shell_complete=_value)
        super().__init__(
            None,
            context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
            callback=run,
            params=[words],
            add_help_option=False,
        )
        self.parser = parser

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The options that begin like this."""
        actions = self.parser()._actions  # pyright: ignore[reportPrivateUsage]
        found = [(name, action.help) for action in actions for name in action.option_strings]
        return [CompletionItem(name, help=text) for name, text in found if name.startswith(incomplete)]


def _value(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What the option before it takes, or files; in a list of passes the last one is completed."""
    words: Sequence[str] = ctx.params.get("words") or ("",)
    values = _VALUES.get(words[-1])
    if values is None:
        return [CompletionItem(incomplete, type="file")]
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(before + comma + name) for name in values() if name.startswith(last)]

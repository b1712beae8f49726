"""The `tilewright` command: finds its subcommands by name and imports only the one that runs.

A subcommand is a module of this folder with a `click.Command` named `command`, and a row in
COMMANDS. Exit status: 0 done, 1 the tool found or met an error (printed with its id), 2 bad usage.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import IO, Any

import click
from click.exceptions import NoArgsIsHelpError

from tilewright.dialects.diagnostics import BadCommandLine, TilewrightError

COMMANDS: Mapping[str, str] = {
    "opt": "run passes on MLIR text",
    "translate": "write C++, Triton or linalg text; read linalg or StableHLO",
    "irdl": "print dialects as IRDL, for upstream's mlir-opt",
    "run": "execute a module on given or random inputs, by the interpreter or a target",
    "capture": "write the graphs of a function or script as .mlir",
    "explain": "what a compile did: fused, left to ATen, refused, and how long it took",
    "report": "one HTML page per compile: source, IR, kernels and their time, linked line by line",
    "new-pass": "write a pass that works, with its test, to change into yours",
    "new-op": "write an op that works, with its tests, to change into yours",
    "test-from-capture": "write a lit test from a captured graph and a pass",
    "cache": "list, measure, verify and prune the compile cache",
    "doctor": "check compiler, OpenMP, torch, triton, GPU and cache, with remedies",
    "lsp": "serve .mlir files to an editor",
    "reduce": "shrink a module that fails to a few ops that fail in the same way",
    "bisect": "find the pass and the rewrite that make a module fail",
    "completion": "print the completion script of a shell",
}
"""Subcommand -> its line in `tilewright --help`; `new-pass` lives in new_pass.py."""


class LazyGroup(click.Group):
    """A group that imports a subcommand's module when it is asked for, so that start-up stays fast.

    Bad usage of any command below it looks like every other error.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _bad_usage_told():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _bad_usage_told():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f".{cmd_name.replace('-', '_')}", __package__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


class _BadUsage(click.ClickException):
    """Shown as it is; exit status 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file, err=True)


@contextmanager
def _bad_usage_told() -> Generator[None]:
    """What click says of a command line, in the form that the tools have for it."""
    try:
        yield
    except NoArgsIsHelpError:  # which is help, and no error
        raise
    except click.UsageError as error:
        ctx = error.ctx or click.get_current_context(silent=True)
        tool, usage = (ctx.command_path, ctx.get_usage()) if ctx is not None else ("tilewright", "--help")
        message = error.format_message().rstrip(".")
        if "Did you mean" not in message:  # click looks among commands that are imported, if at all
            message += _nearest_command(message, ctx)
        raise _BadUsage(
            str(BadCommandLine(tool=tool, message=message, usage=f"{usage}\n`{tool} --help` says more"))
        ) from error


def _nearest_command(message: str, ctx: click.Context | None) -> str:
    wrong = re.match("No such command '(.*)'", message)
    if wrong is None or ctx is None or not isinstance(ctx.command, click.Group):
        return ""
    near = get_close_matches(wrong[1], ctx.command.list_commands(ctx), n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tilewright")
def tilewright() -> None:
    """Compile PyTorch graphs through MLIR, and look at every step of it.

    Exit status: 0 done, 1 the tool found or met an error (printed with its id), 2 bad usage.
    """


def main() -> None:
    """Entry point of the console script."""
    try:
        tilewright.main(standalone_mode=True)
    except TilewrightError as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()

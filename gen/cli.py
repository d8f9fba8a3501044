"""Implements the command ``ingather``: it finds the subcommands and reports users' mistakes."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from gen.commands.interruption import Interruption
from gen.designs.catalogue import commands
from gen.designs.design import load
from gen.errors import UserError
from gen.packages import require
from sim.harness.errors import HarnessError


@dataclass(frozen=True)
class Command:
    """Describes a command that is not the run of a design."""

    path: str  #: where its function or its Typer is
    examples: Sequence[str] = ()  #: command lines for its help
    needs: Sequence[str] = ()  #: modules that not every installation has


COMMANDS = {
    "list": Command("gen.commands.list_designs:list_designs", ["ingather list --params"]),
    "generate": Command(
        "gen.commands.generate:generate",
        [
            "ingather generate p4sgd-worker --preset tiny --set lanes=64 -o build/tiny",
            "ingather generate p4sgd-worker --board u280 -o build/card",
        ],
    ),
    "first-epoch": Command(
        "gen.commands.first_epoch:first_epoch",
        ["ingather first-epoch build/card --device /dev/xdma0"],
    ),
    "reproduce": Command(
        "gen.commands.reproduce:reproduce",
        [
            "ingather reproduce p4sgd --quick -o build/p4sgd",
            "ingather reproduce netsparse --only redundancy --matrix arabic=arabic-2005.mtx",
        ],
    ),
    "schedule": Command(
        "gen.commands.schedule:schedule",
        [
            "ingather schedule --trace 1 --gpu-speed 1.5 --ratio 1.5 -o build/schedule",
            "ingather schedule --placement first --trees first --sharing greedy --lock group",
        ],
        needs=["matplotlib"],
    ),
    "synth": Command(
        "gen.commands.synth:synth",
        [
            "ingather synth p4sgd-engine --json build/engine.json",
            "ingather synth p4sgd-worker --card",
        ],
    ),
    "import-reports": Command(
        "gen.commands.import_reports:import_reports",
        ["ingather import-reports p4sgd-worker --utilization utilization.rpt --timing timing.rpt"],
    ),
    "verify": Command("gen.commands.verify:verify", ["ingather verify p4sgd-engine --seeds 3"]),
    "mutate": Command("gen.commands.mutate:mutate", ["ingather mutate hdl.common.fifo"]),
    "sweep": Command("gen.commands.sweep:sweep_app"),
    "report": Command(
        "gen.commands.report:report",
        ["ingather report build/verify build/p4sgd-scaling.sqlite -o build/report.html"],
        needs=["plotly"],
    ),
    "cache": Command(
        "gen.commands.cache:cache",
        ["ingather cache --prune --older-than 30d", "ingather cache --prune --most 5GB"],
    ),
    "doctor": Command("gen.commands.doctor:doctor", ["ingather doctor"]),
}


class Stopped(Exception):
    """Reports that a command was interrupted; the text says what was kept."""


class Commands(TyperGroup):
    """Groups the commands as Typer does; an interrupt leaves it with what is known of it."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; raise Stopped, with the notes of the interrupt, if it is interrupted."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            kept = [*map(str, stop.args), *getattr(stop, "__notes__", [])]
            raise Stopped("; ".join(["interrupted", *kept])) from stop


def make_app(only: str = "") -> typer.Typer:
    """Make the application of all commands, or of the command called ``only``, with plain help.

    Nothing is imported for the commands that are left out.
    """
    app = typer.Typer(
        cls=Commands,
        help="Generate in-network training hardware, and verify it in simulation.",
        epilog="Example: ingather generate p4sgd-worker --preset u280 -o build/u280",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
    )

    def add(name: str, function: Any, lines: Sequence[str], needs: Sequence[str]) -> None:
        app.command(name, cls=needing(needs), epilog=examples(lines))(function)

    app.callback()(nothing)  # so that a single command is called by its name, too
    runs = {} if only in COMMANDS else commands()
    for name in [only] if only in COMMANDS or only in runs else [*COMMANDS, *runs]:
        if name in runs:
            from gen.commands.run import command_of

            design, run = runs[name]
            add(name, command_of(design, run), run.examples, run.needs)
        elif isinstance(command := load(COMMANDS[name].path), typer.Typer):
            app.add_typer(command, name=name)  # it has commands, and examples, of its own
        else:
            add(name, command, COMMANDS[name].examples, COMMANDS[name].needs)
    return app


def needing(modules: Sequence[str]) -> type[TyperCommand]:
    """Make a class of Typer commands that raise UserError if one of ``modules`` is missing."""

    class Needing(TyperCommand):
        """Runs a command that needs modules which not every installation has."""

        def invoke(self, ctx: Any) -> Any:
            require(self.name or "", *modules)
            return super().invoke(ctx)

    return Needing


def examples(lines: Sequence[str]) -> str:
    """Return command lines as the last lines of a help text."""
    return "\n\n".join(f"Example: {line}" for line in lines)


def nothing() -> None:
    """Take no options for the program itself; this callback lets a single command keep its name."""


def main() -> None:
    """Run the command line; a user's mistake ends in one line and exit status 2."""
    with Interruption() as interruption:
        status = called(sys.argv[1:] or ["--help"], interruption)
    sys.exit(status)


def called(arguments: list[str], interruption: Interruption) -> int:
    """Run a command, and return its exit status."""
    try:
        status = make_app(arguments[0])(arguments, prog_name="ingather", standalone_mode=False)
    except UserError as error:
        return fail(str(error))
    except HarnessError as error:
        return fail(error.line)
    except TyperException as error:
        return fail(error.format_message())
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Stopped as stop:
        return fail(str(stop), interruption.status)
    except KeyboardInterrupt:  # before the command, or behind it
        return fail("interrupted", interruption.status)
    return status if isinstance(status, int) else 0


def fail(text: str, status: int = 2) -> int:
    """Print in one line what was wrong; return the exit status."""
    print(f"ingather: {' '.join(text.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()

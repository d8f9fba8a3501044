"""The command ``ingather``."""

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
    """A command that is no run of a design."""

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
        "gen.commands.synth:synth", ["ingather synth p4sgd-engine --json build/engine.json"]
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
    """A command was interrupted; the text says what was kept."""


class Commands(TyperGroup):
    """Typer's group of commands; an interrupt leaves it with what is known of it."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Stopped if it is interrupted, of which Typer would keep a number."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            kept = [*map(str, stop.args), *getattr(stop, "__notes__", [])]
            raise Stopped("; ".join(["interrupted", *kept])) from stop


def make_app(only: str = "") -> typer.Typer:
    """The commands, with plain help; the command called ``only`` alone if there is one.

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
    """Typer's command; UserError before it begins if it lacks one of ``modules``."""

    class Needing(TyperCommand):
        """A command that needs what not every installation has."""

        def invoke(self, ctx: Any) -> Any:
            require(self.name or "", *modules)
            return super().invoke(ctx)

    return Needing


def examples(lines: Sequence[str]) -> str:
    """Command lines as the end of a help text."""
    return "\n\n".join(f"Example: {line}" for line in lines)


def nothing() -> None:
    """Options of no command: there are none."""


def main() -> None:
    """Run the command line; what a user can do wrong ends in one line and status 2."""
    with Interruption() as interruption:
        status = called(sys.argv[1:] or ["--help"], interruption)
    sys.exit(status)


def called(arguments: list[str], interruption: Interruption) -> int:
    """Run a command; the exit status."""
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
    """Say what was wrong, in one line; the exit status."""
    print(f"ingather: {' '.join(text.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()

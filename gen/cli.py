"""The command ``ingather``."""

import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from gen.commands.interruption import Interruption
from gen.errors import UserError
from sim.harness.errors import HarnessError

SPMM = "ingather spmm --matrix uk --property-bytes 4 -o build/uk"
SPMM_OF_FILE = "ingather spmm --matrix FILE.mtx --nodes 4 --no-concatenate"

TRAIN = "ingather train --data digits -o build/digits"
TRAIN_ON_FILE = "ingather train --data FILE --loss hinge --test 0.2 --center"

GENERATE = "ingather generate p4sgd-worker --preset tiny --set lanes=64 -o build/tiny"
GENERATE_FOR_CARD = "ingather generate p4sgd-worker --board u280 -o build/card"

PRUNE_OLD = "ingather cache --prune --older-than 30d"
PRUNE_LARGE = "ingather cache --prune --most 5GB"

#: name -> where its function or its Typer is, and an example for its help
COMMANDS = {
    "list": ("gen.commands.list_designs:list_designs", "ingather list --params"),
    "generate": (
        "gen.commands.generate:generate",
        f"{GENERATE}\n\nExample: {GENERATE_FOR_CARD}",
    ),
    "train": ("gen.commands.train:train", f"{TRAIN}\n\nExample: {TRAIN_ON_FILE}"),
    "first-epoch": (
        "gen.commands.first_epoch:first_epoch",
        "ingather first-epoch build/card --device /dev/xdma0",
    ),
    "spmm": ("gen.commands.spmm:spmm", f"{SPMM}\n\nExample: {SPMM_OF_FILE}"),
    "reproduce": (
        "gen.commands.reproduce:reproduce",
        "ingather reproduce p4sgd --quick -o build/p4sgd",
    ),
    "synth": ("gen.commands.synth:synth", "ingather synth p4sgd-engine --json build/engine.json"),
    "import-reports": (
        "gen.commands.import_reports:import_reports",
        "ingather import-reports p4sgd-worker --utilization utilization.rpt --timing timing.rpt",
    ),
    "verify": ("gen.commands.verify:verify", "ingather verify p4sgd-engine --seeds 3"),
    "mutate": ("gen.commands.mutate:mutate", "ingather mutate hdl.common.fifo"),
    "sweep": ("gen.commands.sweep:sweep_app", ""),
    "report": (
        "gen.commands.report:report",
        "ingather report build/verify build/p4sgd-scaling.sqlite -o build/report.html",
    ),
    "cache": ("gen.commands.cache:cache", f"{PRUNE_OLD}\n\nExample: {PRUNE_LARGE}"),
    "doctor": ("gen.commands.doctor:doctor", "ingather doctor"),
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


def make_app() -> typer.Typer:
    """All commands, with plain help."""
    app = typer.Typer(
        cls=Commands,
        help="Generate in-network training hardware, and verify it in simulation.",
        epilog="Example: ingather generate p4sgd-worker --preset u280 -o build/u280",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    for name, (path, example) in COMMANDS.items():
        module, _, function = path.partition(":")
        command = getattr(import_module(module), function)
        if isinstance(command, typer.Typer):  # which has commands, and examples, of its own
            app.add_typer(command, name=name)
        else:
            app.command(name, epilog=f"Example: {example}")(command)
    return app


def main() -> None:
    """Run the command line; what a user can do wrong ends in one line and status 2."""
    with Interruption() as interruption:
        status = called(sys.argv[1:] or ["--help"], interruption)
    sys.exit(status)


def called(arguments: list[str], interruption: Interruption) -> int:
    """Run a command; the exit status."""
    try:
        status = make_app()(arguments, prog_name="ingather", standalone_mode=False)
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

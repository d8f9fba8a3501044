"""Implements the command ``ingather``: it finds the subcommands and reports users' mistakes."""

import logging
import os
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from gen.base.errors import UserError
from gen.base.heads import own_version
from gen.commands.interruption import Interruption
from gen.designs.catalogue import commands
from gen.designs.design import load
from gen.packages import require
from sim.harness.errors import HarnessError


@dataclass(frozen=True)
class Command:
    """Describes a command that is not the run of a design."""

    path: str  #: where its function or its Typer is
    about: str  #: what it does, in the few words that the list of commands has room for
    examples: Sequence[str] = ()  #: command lines for its help
    needs: Sequence[str] = ()  #: modules that not every installation has


COMMANDS = {
    "list": Command(
        "gen.commands.list_designs:list_designs",
        "List the designs, their presets and parameters.",
        ["ingather list --params", "ingather list --json"],
    ),
    "generate": Command(
        "gen.commands.generate:generate",
        "Write a design's Verilog, or all that a card needs.",
        [
            "ingather generate p4sgd-worker --preset tiny --set lanes=64 -o build/tiny",
            "ingather generate p4sgd-worker --board u280 -o build/card",
        ],
    ),
    "first-epoch": Command(
        "gen.commands.first_epoch:first_epoch",
        "Train an epoch on a card, and check its weights.",
        ["ingather first-epoch build/card --device /dev/xdma0"],
    ),
    "reproduce": Command(
        "gen.commands.reproduce:reproduce",
        "Make a paper's tables and figures anew.",
        [
            "ingather reproduce p4sgd --quick -o build/p4sgd",
            "ingather reproduce netsparse --only redundancy --matrix arabic=arabic-2005.mtx",
        ],
    ),
    "schedule": Command(
        "gen.commands.schedule:schedule",
        "Schedule jobs on a cluster whose switches add up.",
        [
            "ingather schedule --trace 1 --gpu-speed 1.5 --ratio 1.5 -o build/schedule",
            "ingather schedule --placement first --trees first --sharing greedy --lock group",
            "ingather schedule --rtl --topology 2,2,2:1,1,2 --jobs sim/mina/rtl/four_jobs.json",
        ],
        needs=["matplotlib"],
    ),
    "switch": Command(
        "gen.commands.switch:switch",
        "Answer as a switch does, over UDP on this machine.",
        ["ingather switch --golden", "ingather switch --ports 4 --drop 0.1 --seconds 60"],
    ),
    "dissector": Command(
        "gen.commands.dissector:dissector",
        "Write what shows frames in Wireshark by their fields.",
        ["ingather dissector -o ingather.lua"],
    ),
    "synth": Command(
        "gen.commands.synth:synth",
        "Estimate what a design takes of a card.",
        [
            "ingather synth p4sgd-engine -o build/engine.json",
            "ingather synth p4sgd-worker --card",
        ],
    ),
    "route": Command(
        "gen.commands.route:route",
        "Place and route components on a small FPGA.",
        [
            "ingather route async-fifo skid-buffer",
            "ingather route netsparse-snic/pending_table_256x32_w16_t2 -o build/table.json",
        ],
    ),
    "import-reports": Command(
        "gen.commands.import_reports:import_reports",
        "Put Vivado's figures beside the estimate.",
        [
            "ingather import-reports p4sgd-worker --utilization use.rpt --timing timing.rpt",
            "ingather import-reports DIR/build/evidence.txt",
        ],
    ),
    "verify": Command(
        "gen.commands.verify:verify",
        "Run the tests of designs or components, on seeds.",
        ["ingather verify p4sgd-engine --seeds 3"],
    ),
    "mutate": Command(
        "gen.commands.mutate:mutate",
        "Break the RTL, and see whether its tests notice.",
        ["ingather mutate hdl.common.fifo"],
    ),
    "sweep": Command(
        "gen.commands.sweep:sweep_app", "Measure many points of a design, and compare them."
    ),
    "report": Command(
        "gen.commands.report:report",
        "Put all kinds of results on one page.",
        ["ingather report build/verify build/p4sgd-scaling.sqlite -o build/report.html"],
    ),
    "cache": Command(
        "gen.commands.cache:cache",
        "Show what the cache holds, and prune it.",
        ["ingather cache --prune --older-than 30d", "ingather cache --prune --most 5GB"],
    ),
    "doctor": Command(
        "gen.commands.doctor:doctor", "Tell what this machine has and lacks.", ["ingather doctor"]
    ),
}


NOTHING = "nothing was written"  #: unless a command says what it has written


class Stopped(Exception):
    """Reports that a command was interrupted; the text says what was kept."""


class Commands(TyperGroup):
    """Groups the commands as Typer does; an interrupt leaves it with what is known of it."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; raise Stopped, with the notes of the interrupt, if it is interrupted."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            stored = [*map(str, stop.args), *getattr(stop, "__notes__", [])]
            raise Stopped("; ".join(["interrupted", *(stored or [NOTHING])])) from stop


def make_app(only: str = "") -> typer.Typer:
    """Make the application of all commands, or of the command called ``only``, with plain help.

    Nothing is imported for the commands that are left out.
    """
    app = bare_app()
    runs = {} if only in COMMANDS else commands()
    for name in [only] if only in COMMANDS or only in runs else [*COMMANDS, *runs]:
        if name in runs:
            from gen.commands.run import command_of

            design, run = runs[name]
            add(app, name, command_of(design, run), run.examples, run.needs)
        elif isinstance(command := load(COMMANDS[name].path), typer.Typer):
            app.add_typer(command, name=name)  # it has commands, and examples, of its own
        else:
            add(app, name, command, COMMANDS[name].examples, COMMANDS[name].needs)
    return app


def make_outline() -> typer.Typer:
    """Make the application whose commands only say what they do; none of them is imported."""
    app = bare_app()
    about = {name: command.about for name, command in COMMANDS.items()}
    about |= {name: re.split("[,:]", run.about)[0] for name, (_, run) in commands().items()}
    for name, text in about.items():
        app.command(name, short_help=f"{text.removesuffix('.')}.")(nothing)
    return app


def bare_app() -> typer.Typer:
    """Make the application without a command."""
    app = typer.Typer(
        cls=Commands,
        help="Generate in-network training hardware, and verify it in simulation.",
        epilog="Example: ingather generate p4sgd-worker --preset u280 -o build/u280\n\n"
        "ingather COMMAND --help shows the options of a command, and examples.",
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(nothing_but_version)  # so that a single command is called by its name, too
    return app


def add(
    app: typer.Typer, name: str, function: Any, lines: Sequence[str], needs: Sequence[str]
) -> None:
    """Add a command with its examples, and with the modules it needs."""
    app.command(name, cls=needing(needs), epilog=examples(lines))(function)


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
    """Take no options, where only a command's name and what it does are shown."""


def show_version(requested: bool) -> None:
    """Print the version and end, if it is asked for."""
    if requested:
        typer.echo(f"ingather {own_version()}")
        raise typer.Exit


def nothing_but_version(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options of the program itself."""


def first_word() -> str:
    """Return the command whose words a shell wants to complete; empty if there is none."""
    if "_INGATHER_COMPLETE" not in os.environ:  # as the script of a shell's completion sets it
        return ""
    words = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return (*words.split()[1:2], "")[0]


def main() -> None:
    """Run the command line; a user's mistake ends in one line and exit status 2."""
    try:
        with Interruption() as interruption:
            status = called(sys.argv[1:] or [first_word() or "--help"], interruption)
    except OSError as error:  # there is no folder for temporary files
        status = refused(error)
    sys.exit(status)


def called(arguments: list[str], interruption: Interruption) -> int:
    """Run a command, and return its exit status."""
    try:
        known = arguments[0] in COMMANDS or arguments[0] in commands()
        app = make_app(arguments[0]) if known else make_outline()
        status = app(arguments, prog_name="ingather", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        return fail(str(error))
    except HarnessError as error:
        return fail(error.line)
    except TyperException as error:
        return fail(error.format_message())
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return refused(error)
    except MemoryError as error:
        return fail(f"this needs more memory than this machine gives: {error}")
    except Stopped as stop:
        silence()
        return fail(str(stop), interruption.status)
    except KeyboardInterrupt:  # before the command, or behind it
        return fail(f"interrupted; {NOTHING}", interruption.status)
    return status if isinstance(status, int) else 0


def refused(error: OSError) -> int:
    """Say in a line what the system refused, and of which file; return the exit status."""
    drop_rest(sys.stdout)
    place = error.filename or "standard output or a temporary file"
    return fail(f"cannot work on {place}: {error.strerror or error}")


def drop_rest(stream: TextIO) -> None:
    """Let a stream lose what it has still to write, which Python would complain of at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def silence() -> None:
    """Silence warnings and logs about work that an interrupt cut short: one line has said it."""
    warnings.simplefilter("ignore")
    logging.disable()


def fail(text: str, status: int = 2) -> int:
    """Print in one line what was wrong; return the exit status."""
    try:
        print(f"ingather: {' '.join(text.split())}", file=sys.stderr, flush=True)
    except OSError:  # its file may be on the disk that is full
        drop_rest(sys.stderr)
    return status


if __name__ == "__main__":
    main()

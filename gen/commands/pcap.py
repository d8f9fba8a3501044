"""Writes the frames on the links of a run as a capture, which Wireshark reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from gen.base.errors import UserError
from gen.output.consoles import Console
from gen.output.folder import check_file, write_file

OPTION = typer.Option(
    "--pcap",
    metavar="FILE",
    help="Write the frames on all links as a capture (pcapng), also of a run that fails or is"
    " interrupted; the simulator is another one, which is built once.",
)


def check_target(target: Path | None, output: Path) -> None:
    """Raise UserError for a capture that cannot be written, or that ``output`` would replace."""
    if target is not None:
        check_file(target)
        if output.resolve() in target.resolve().parents:
            raise UserError(f"{target} lies in {output}, which the results replace: choose another")


def check(simulator: Any) -> None:
    """Raise UserError if no links are simulated."""
    if not simulator.captures:
        raise UserError("--pcap needs links of RTL, and this run has none: leave it out")


@contextmanager
def captured(scratch: Path, target: Path | None, console: Console) -> Iterator[None]:
    """Write what a run in ``scratch`` has captured to ``target``, however the block ends."""
    try:
        yield
    finally:
        if target is not None:
            from sim.harness.captures import capture_of

            if (content := capture_of(scratch)) is not None:
                write_file(target, content)
                console.print(f"wrote {target}: {len(content):,} bytes of frames on links")

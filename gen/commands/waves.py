"""Writes the waveform of a run's RTL, and a save file that opens it in GTKWave."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from sim.harness.errors import HarnessError
from sim.verify.gtkwave import SAVE, write_save

FILE = "dump.vcd"
HELP = f"Write the waveform of the RTL as {FILE}, and {SAVE}, which opens it in GTKWave."


def check(simulator: Any) -> None:
    """Raise UserError if no RTL is simulated that could have waves."""
    if not simulator.traced:
        raise UserError(
            "--waves needs RTL, and this run is of a model: leave out --waves, or what chooses"
            " the model"
        )


@contextmanager
def workplace(name: str) -> Iterator[Path]:
    """Yield a folder for a run called ``name``; it stays only for the waves of one that failed.

    Raises UserError, which names them, if the run fails.
    """
    from sim.harness.session import RunFailed
    from sim.harness.verilator import new_scratch

    folder = new_scratch(name)
    try:
        yield folder
    except (RunFailed, HarnessError) as failure:
        text = failure.line if isinstance(failure, HarnessError) else str(failure)
        if not (folder / FILE).exists():
            raise UserError(text) from failure
        stored = folder.with_name(f"{folder.name}-waves")
        stored.mkdir()
        taken(folder, stored)
        raise UserError(f"{text}; its waves: gtkwave {stored / SAVE}") from failure
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def taken(scratch: Path, folder: Path) -> Sequence[str]:
    """Move the waveform, if there is one, with its save file into ``folder``; return the names."""
    if not (scratch / FILE).exists():
        return ()
    shutil.move(scratch / FILE, folder / FILE)
    return FILE, write_save(folder / FILE).name

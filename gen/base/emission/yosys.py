"""Runs Yosys in processes of its own, and hands it its files in memory.

Yosys ends the process in which it finds an error, and may crash. It prints every pass on standard
output. In a command, the name of a file ends at a blank, and what does not fit on the disk is lost
without a word. So it runs in a forked process, and no file of it is on a disk.
"""

import gc
import json
import os
import pickle
import re
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from gen.base.errors import UserError

T = TypeVar("T")


class YosysError(UserError):
    """Reports that Yosys failed; the text has its words."""


class MemoryFile:
    """Holds a file that has a name for this process and for those forked from it, but no disk."""

    def __init__(self, text: str = "") -> None:
        self.handle = os.memfd_create("yosys")
        self.path = Path(f"/proc/self/fd/{self.handle}")
        self.path.write_text(text, encoding="utf-8")

    def read(self) -> str:
        """Return the text of the file."""
        return self.path.read_text(encoding="utf-8", errors="replace")

    def __del__(self) -> None:
        os.close(self.handle)


class Yosys:
    """Holds a design in Yosys. It is used in functions that :func:`apart` calls."""

    def __init__(self) -> None:
        self.native = native_yosys()
        self.design = self.native.Design()

    def run(self, *commands: str) -> str:
        """Run commands; return what Yosys says of them."""
        self.native.log_flush()
        begin = os.fstat(1).st_size
        for command in commands:
            self.native.run_pass(command, self.design)
        self.native.log_flush()
        return os.pread(1, os.fstat(1).st_size - begin, begin).decode(errors="replace")

    def read(self, text: str, command: str = "read_rtlil") -> None:
        """Read modules from a text."""
        file = MemoryFile(text)
        self.run(f"{command} {file.path}")

    def write(self, command: str = "write_verilog -norename", selection: str = "") -> str:
        """Return what a command writes into the file that is named behind it."""
        file = MemoryFile()
        self.run(f"{command} {file.path} {selection}")
        return file.read()


def described(text: str, *passes: str, language: str = "rtlil") -> dict[str, Any]:
    """Return the modules of a text, after passes, as Yosys describes them in JSON, by name."""

    def work() -> str:
        yosys = Yosys()
        yosys.read(text, f"read_{language}")
        yosys.run(*passes)
        return yosys.write("write_json")

    return json.loads(apart(work))["modules"]


def apart(work: Callable[..., T], *arguments: Any) -> T:
    """Return ``work(*arguments)``, which a forked process calls; raise what it raises.

    YosysError if the process ends before.
    """
    native_yosys()  # once, not in each process
    result, said = MemoryFile(), MemoryFile()
    child = os.fork()
    if not child:
        answer(work, arguments, result, said)
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    if status:
        raise YosysError(f"Yosys failed: {last_words(said.read(), status)}")
    returned, value = pickle.loads(result.path.read_bytes())
    if returned:
        return value
    raise value


def answer(work: Callable[..., T], arguments: Any, result: MemoryFile, said: MemoryFile) -> None:
    """End this process with what ``work`` returns, or raises, in ``result``."""
    try:
        gc.disable()  # all that the other process has would be copied
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        for stream in (1, 2):
            os.dup2(said.handle, stream)
        try:
            outcome = (True, work(*arguments))
        except Exception as error:
            error.add_note(traceback.format_exc())
            outcome = (False, error)
        result.path.write_bytes(pickle.dumps(outcome))
        os._exit(0)
    finally:
        os._exit(1)


def last_words(said: str, status: int) -> str:
    """Return the error that Yosys ended with, else the signal that ended it, else its last line."""
    errors = re.findall(r"^(?:.*: )?ERROR: (.*)", said, re.M)
    if status < 0 and not errors:
        return f"its process ended with {signal.Signals(-status).name}"
    return (errors or said.splitlines() or [f"its process ended with status {status}"])[-1]


def native_yosys() -> Any:
    """Import Yosys as a library; raise UserError if it is not installed.

    pyosys asks the loader to share the symbols of every library that is loaded after it: two
    libraries made with pybind11 then take each other's functions. So the setting is put back.
    """
    flags = sys.getdlopenflags()
    try:
        import_module("pyosys")
        sys.setdlopenflags(flags)
        return import_module("pyosys.libyosys")
    except ImportError as error:
        raise UserError("Yosys is missing: pip install ingather, which brings pyosys") from error

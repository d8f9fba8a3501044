"""Carries out a command of a program's command line on a card."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sim.host.device import DeviceError

#: commands by name: what each does, its arguments, and the function of a driver and these; what
#: the function returns is printed if it is a text
Commands = Mapping[str, tuple[str, Mapping[str, Any], Callable[..., Any]]]


def address(text: str) -> bytes:
    """Return the bytes of a MAC address such as 02:00:00:00:00:01."""
    octets = bytes(int(part, 16) for part in text.split(":"))
    if len(octets) != 6:
        raise ValueError(text)
    return octets


def numbers(text: str) -> list[int]:
    """Return whole numbers that commas separate; none if the text is empty."""
    return [int(part) for part in text.split(",") if part]


def run_command(
    about: str,
    commands: Commands,
    open_card: Callable[[str], AbstractContextManager[Any]],
    device: Mapping[str, Any],
    arguments: Sequence[str] | None = None,
) -> int:
    """Carry out the command line on the card that ``open_card`` opens; return the exit status.

    ``about`` says what the program does; ``device`` says how its user names the card. A function
    that fails raises DeviceError, or returns a status of its own, an int.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {open_card.__module__}", description=f"{about}."
    )
    parser.add_argument("--device", **device)
    choices = parser.add_subparsers(dest="command", required=True)
    for name, (text, parameters, _) in commands.items():
        command = choices.add_parser(name, help=text)
        for parameter, kind in parameters.items():
            command.add_argument(parameter, type=kind)
    requested = vars(parser.parse_args(arguments))
    _, parameters, function = commands[requested["command"]]
    try:
        with open_card(requested["device"]) as driver:
            result = function(driver, *(requested[name] for name in parameters))
    except DeviceError as error:
        print(error)
        return 1
    if isinstance(result, str):
        print(result)
    return result if type(result) is int else 0

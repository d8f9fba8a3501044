"""Shows, sets and tests a switch for every system from the command line."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from sim.host.commands import Commands, address, numbers, run_command
from sim.host.device import DeviceError
from sim.host.selftest.board import MODES
from sim.host.selftest.card_checks import card_checks, flat
from sim.host.selftest.checks import Check, run_checks
from sim.network_switch.host.network_switch import FORWARDING, SharedSwitch

ABOUT = "Show, set and test a switch for every system"


def parts(switch: SharedSwitch) -> str:
    """Return a line for each part: its page of registers, and its package."""
    lines = (f"{name}: page {page}, {of}" for name, (page, of, _) in switch.build.parts.items())
    return "\n".join(lines)


def start(switch: SharedSwitch, engine: str, job: int, *place: Any) -> None:
    """Start a job of an engine whose jobs need no tables, at ports, in an epoch, with slots."""
    named = zip(("ports", "epoch", "base", "slots"), place, strict=True)
    switch.part(engine).start_job(job, **dict(named))


def shown(switch: SharedSwitch, engine: str) -> str:
    """Return the counters of an engine that are not 0."""
    part = switch.part(engine)
    more = (
        {"verdict": part.verdicts} if engine in switch.with_jobs else {"pipe": part.pipe_counters}
    )
    banks = {name: read() for name, read in {"port": part.port_counters, **more}.items()}
    return "\n".join(f"{name} {count}" for name, count in flat(banks) if count)


def checks_of(switch: SharedSwitch, mode: str) -> dict[str, Check]:
    """Return the checks of all parts by name, and those of the card."""
    built = card_checks(switch, switch.counters, mode)
    for name, (_, package, module) in switch.build.parts.items():
        own = import_module(f"{package}.{module}").checks_of(switch.part(name), "")
        built |= {f"{name} {check}": function for check, function in own.items()}
    return built


def test(switch: SharedSwitch, mode: str) -> int:
    """Make all checks; return the exit status."""
    if mode not in MODES:
        raise DeviceError(f"packets turn back in one of {', '.join(MODES)}, not in {mode}")
    return run_checks(checks_of(switch, mode))


COMMANDS: Commands = {
    "parts": ("list the parts that are built", {}, parts),
    "addresses": (
        "set the switch's own address, and that to which engines answer",
        {"switch": address, "group": address},
        SharedSwitch.set_addresses,
    ),
    "start": (
        "start a job of p4sgd or allreduce",
        {"engine": str, "job": int, "ports": numbers, "epoch": int, "base": int, "slots": int},
        start,
    ),
    "stop": (
        "stop a job",
        {"engine": str, "job": int},
        lambda switch, engine, job: switch.part(engine).stop_job(job),
    ),
    "engine": ("show the counters of an engine", {"engine": str}, shown),
    "test": (
        "test all parts, and the links, whose packets turn back in part pcs or pma",
        {"loopback": str},
        test,
    ),
}


def main(
    open_card: Callable[[str], AbstractContextManager[Any]],
    device: Mapping[str, Any],
    arguments: Sequence[str] | None = None,
) -> int:
    """Carry out the command line; return the exit status.

    Beside COMMANDS there are those of a forwarding switch, from its package.
    """
    program = import_module("forwarding_switch_host.program")

    def of_forwarding(function: Callable[..., Any], switch: SharedSwitch, *values: Any) -> Any:
        return function(switch.part(FORWARDING), *values)

    commands = {
        name: (text, parameters, partial(of_forwarding, function))
        for name, (text, parameters, function) in program.COMMANDS.items()
    }

    @contextmanager
    def opened(name: str) -> Any:
        try:
            with open_card(name) as switch:
                yield switch
        except (RuntimeError, ValueError) as error:  # each package has a DeviceError of its own
            raise DeviceError(str(error)) from error

    opened.__module__ = open_card.__module__
    return run_command(ABOUT, {**commands, **COMMANDS}, opened, device, arguments)

"""Checks what every card has: registers that can be written, counters, and links."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from sim.host.selftest.board import Board
from sim.host.selftest.checks import Check, CheckFailed, Tell

RINGS = ("request_ring", "completion_ring")  #: fields that let the hardware use a ring
SPREAD = 0x9E37_79B1  #: odd: its multiples differ in all bits from register to register

Counters = Callable[[], Mapping[Any, Any]]


def card_checks(
    driver: Any, counters: Counters, mode: str = "", *, busy: Collection[str] = ()
) -> dict[str, Check]:
    """Return the checks of a card whose design ``driver`` drives, by name.

    ``counters`` reads all counters, those of a part in a mapping of their own; some that are
    ``busy`` never rest. Links turn back in ``mode``; without a mode the card has none.
    """
    built: dict[str, Check] = {
        "registers": lambda _: check_registers(driver.registers),
        "counters": lambda _: check_counters(driver, counters, busy),
    }
    return built | ({"links": lambda tell: check_links(driver, mode, tell)} if mode else {})


def check_registers(registers: Any) -> str:
    """Write a number of its own into each field, then the complement; read all of them back.

    Fields that let the hardware use a ring stay as they are; the others hold afterwards what they
    held before. Raises CheckFailed, which names the first field that reads wrong.
    """
    registers.load()
    fields = {name: at for name, at in registers.fields.items() if at.access == "rw"}
    before = {name: int(registers.read(name)) for name in fields if name not in RINGS}
    try:
        for inverted in (0, -1):
            numbers = {}
            for name in before:
                at = fields[name]
                number = (at.address + at.offset + 1) * SPREAD >> 8 ^ inverted
                numbers[name] = number & (1 << at.bits) - 1
            registers.write(**numbers)
            for name, number in numbers.items():
                if (result := registers.read(name)) != number:
                    raise CheckFailed(f"{name} reads {result:#x}, not {number:#x} as written")
    finally:
        registers.write(**before)
    return f"all {len(before)} fields read as they were written"


def check_counters(driver: Any, counters: Counters, busy: Collection[str]) -> str:
    """Clear all counters; raise CheckFailed, which names the first that then is not 0."""
    driver.clear_counters()
    counts = dict(flat(counters()))
    for name, count in counts.items():
        if count and name not in busy:
            raise CheckFailed(f"the counter {name} is {count} after it was cleared")
    return f"all {len(counts)} could be cleared"


def flat(counts: Mapping[Any, Any], part: str = "") -> Iterator[tuple[str, int]]:
    """Yield name and number of each counter, also of those in mappings, behind their part's."""
    for name, count in counts.items():
        if isinstance(count, Mapping):
            yield from flat(count, f"{part}{name} ")
        else:
            yield f"{part}{name}", count


def check_links(driver: Any, mode: str, tell: Tell) -> str:
    """Let the MAC at each cage hear itself; say at which cages a far end was heard before."""
    board = Board(driver.device, driver.build.board)
    cages = [cage for cage in (0, 1) if f"linked_{cage}" in board.places]
    heard = [cage for cage in cages if board.read("links") >> cage & 1]
    for cage in cages:
        tell(f"the MAC at cage {cage} hears itself")
        with board.loopback(cage, mode, driver.seconds):
            pass
    return f"each MAC hears itself; cages that heard a far end before: {heard}"

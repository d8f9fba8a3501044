"""Makes the registers that the maps of several designs have in common."""

from collections.abc import Iterable

from hdl.common.event_counters import CountersParams, numbered
from hdl.common.registers import Field, Register, names_of, ro, rw

MEMORY_TIMEOUT = 20_000_000  #: cycles, 80 ms of a card's core


def single(field: Field, doc: str) -> Register:
    """Make the register of a field, called as the field is."""
    return Register(field.name, doc, (field,))


def identity_registers(what: str, number: int, version: int, *sizes: Field) -> tuple[Register, ...]:
    """Make the first registers of a design's map: what it is, and sizes it was built with."""
    return (
        single(ro("identity", 32, f"0x{number:08X}"), what),
        single(ro("version", 32, str(version)), "Version of this register map."),
        Register("sizes", "Parameters that the hardware was built with.", sizes),
    )


def commands(*fields: Field) -> Register:
    """Make the register of commands, fields of pulses."""
    return Register("commands", "Commands; a field acts when it is written as one.", fields)


def buses_register(doc: str, names: Iterable[str]) -> Register:
    """Make the register of what :data:`hdl.common.bus_watch.BUS` says of buses."""
    fields = [
        field
        for name in names
        for field in (
            ro(f"{name}_broken", 1, "it answered what it was not asked, or not in time"),
            ro(f"{name}_silent", 1, "it did not answer within memory_timeout"),
            ro(f"{name}_owes", 1, "it has still to answer"),
        )
    ]
    return Register("buses", f"{doc} What is asked of a broken one fails at once.", tuple(fields))


def memory_timeout(what: str, who: str, cycles: int = MEMORY_TIMEOUT) -> Register:
    """Make the register of the time until ``what`` is given up, for which ``who`` waits."""
    doc = (
        "cycles without a movement, up to twice as many; 0: never, so that"
        f" {who} waits for ever for a memory that is gone, and a bus that was given a wrong number"
        " of beats owes for ever"
    )
    return single(rw("memory_timeout", 32, doc, init=cycles), f"When {what} is given up.")


def choice(counters: CountersParams, kind: str, doc: str) -> Field:
    """Make the field that chooses one of ``counters``, KIND_counter, of which there is a number."""
    enum = numbered(counters, f"{kind.capitalize()}Counter")
    return rw(f"{kind}_counter", counters.index_bits, doc, enum=names_of(enum))


def chosen(counters: CountersParams, kind: str, of: str) -> Register:
    """Make the register KIND_count, which shows what :func:`choice` has chosen."""
    field = ro(f"{kind}_count", counters.bits, "value of the counter")
    return single(field, f"Shows the chosen counter of {of}.")

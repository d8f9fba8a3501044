"""Builds the registers that the maps of several designs have in common."""

from collections.abc import Iterable

from hdl.common.event_counters import CountersParams, numbered
from hdl.common.registers import Field, Register, names_of, ro, rw

MEMORY_TIMEOUT = 20_000_000  #: cycles, 80 ms of a card's core
#: documentation of a register of commands
COMMANDS_DOC = "Takes commands: a field acts when 1 is written to it, and reads as 0."


def single(field: Field, doc: str) -> Register:
    """Return a register with one field, and with the field's name."""
    return Register(field.name, doc, field)


def address_registers(name: str, doc: str) -> tuple[Register, ...]:
    """Return the two registers of an Ethernet address; bits 0..7 are the byte sent first."""
    return (
        single(
            rw(f"{name}_low", 32, f"sets bytes 0..3 of {doc}; bits 0..7 are the byte sent first"),
            f"Sets the lower bytes of {doc}.",
        ),
        single(
            rw(
                f"{name}_high",
                16,
                f"sets bytes 4 and 5 of {doc}; bits 8..15 are the byte sent last",
            ),
            f"Sets the upper bytes of {doc}.",
        ),
    )


def identity_registers(what: str, number: int, version: int, *sizes: Field) -> tuple[Register, ...]:
    """Return the first registers of a design's map: its identity, and its sizes.

    ``version`` rises whenever an address or the meaning of a field changes, so that host software
    refuses hardware that it does not fit.
    """
    return (
        single(ro("identity", 32, f"reads 0x{number:08X}, the number of this design"), what),
        single(
            ro("version", 32, f"reads {version}, the version of this register map"),
            "Tells the version of this register map.",
        ),
        Register("sizes", "Tells sizes that the hardware was built with.", *sizes),
    )


def commands(*fields: Field) -> Register:
    """Return the register of commands, whose fields are pulses."""
    return Register("commands", COMMANDS_DOC, *fields)


def buses_register(doc: str, names: Iterable[str]) -> Register:
    """Return the register with the state of buses (:data:`hdl.common.bus_watch.BUS`)."""
    fields = [
        field
        for name in names
        for field in (
            ro(
                f"{name}_broken",
                1,
                f"tells that bus {name} is broken: it gave an answer without a request, or did not"
                " answer in time",
            ),
            ro(
                f"{name}_silent",
                1,
                f"tells that bus {name} is broken because it did not answer within memory_timeout",
            ),
            ro(
                f"{name}_owes",
                1,
                f"tells that bus {name} has still to take a request or to answer one",
            ),
        )
    ]
    return Register("buses", f"{doc} All requests to a broken bus fail at once.", *fields)


def memory_timeout(what: str, owner: str, cycles: int = MEMORY_TIMEOUT) -> Register:
    """Return the register of the time-out after which ``owner`` abandons ``what``."""
    doc = (
        f"sets the time-out in cycles: {what} is abandoned after one to two time-outs without"
        f" progress; 0: there is no time-out, and {owner} waits for ever if a memory does not"
        " answer"
    )
    return single(
        rw("memory_timeout", 32, doc, init=cycles),
        f"Sets the time-out of {what}. Without it, a bus that answered with a wrong number of"
        " beats owes an answer for ever.",
    )


def choice(counters: CountersParams, kind: str, doc: str) -> Field:
    """Return the field KIND_counter, which selects the counter that KIND_count shows."""
    enum = numbered(counters, f"{kind.capitalize()}Counter")
    return rw(
        f"{kind}_counter",
        counters.index_bits,
        f"chooses the counter of {doc} that {kind}_count shows",
        enum=names_of(enum),
    )


def chosen(counters: CountersParams, kind: str, of: str) -> Register:
    """Return the register KIND_count, which shows the counter that :func:`choice` selects."""
    field = ro(
        f"{kind}_count",
        counters.bits,
        f"tells the value of the counter of {of} that {kind}_counter chooses",
    )
    return single(field, f"Shows the chosen counter of {of}.")

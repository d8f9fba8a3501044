"""Declares the registers of links to other switches."""

from hdl.common.registers import Register, ro, rw

LINK_TIMEOUT = 20_000  #: cycles: 80 us at 250 MHz, some round trips between two switches

LINK_REGISTERS = (
    Register(
        "links",
        "Ports that lead to other switches: the last ones. Changed while no job is active.",
        (
            ro("link_ports", 6, "so many"),
            ro("link_window", 6, "PARTIALs of a turn that may be under way by each"),
            rw("above", 1, "the last port leads to the switch above, which decides when turns end"),
            rw(
                "far_port",
                5,
                "port of each of the other switches by which it is linked to this one",
            ),
        ),
    ),
    Register(
        "link_timeout",
        "When PARTIALs are repeated.",
        (
            rw(
                "link_timeout",
                32,
                "cycles for which the oldest is not acknowledged, before all are that are not",
                init=LINK_TIMEOUT,
            ),
        ),
    ),
)

"""Declares the registers of links to other switches."""

from hdl.common.registers import Register, ro, rw

LINK_TIMEOUT = 20_000  #: cycles: 80 us at 250 MHz, several round trips between two switches

LINK_REGISTERS = (
    Register(
        "links",
        "Describes ports that lead to other switches, the last ones; may change while no job is"
        " active.",
        (
            ro("link_ports", 6, "tells how many ports lead to other switches"),
            ro("link_window", 6, "tells how many PARTIALs of a turn may be under way by each link"),
            rw(
                "above",
                1,
                "lets the last port lead to the switch above, which decides when turns end",
            ),
            rw(
                "far_port",
                5,
                "sets the port by which each of the other switches is linked to this one",
            ),
        ),
    ),
    Register(
        "link_timeout",
        "Sets when PARTIALs are repeated.",
        (
            rw(
                "link_timeout",
                32,
                "sets for how many cycles the oldest PARTIAL may lack an ACK before all that lack"
                " one are repeated",
                init=LINK_TIMEOUT,
            ),
        ),
    ),
)

"""Declares the registers of links to other switches."""

from hdl.common.registers import Register, ro, rw
from hdl.switchgnn.switch.sizes import ABOVE_BITS

LINK_TIMEOUT = 20_000  #: cycles: 80 us at 250 MHz, several round trips between two switches

LINK_REGISTERS = (
    Register(
        "links",
        "Describes the last ports, which lead to other switches; may change only while no job is"
        " active.",
        ro("link_ports", 6, "tells how many ports lead to other switches"),
        ro("link_window", 6, "tells how many PARTIALs of a turn may be under way on each link"),
        rw(
            "above",
            ABOVE_BITS,
            "sets how many of these ports, the last ones, lead to switches above, which together"
            " decide when turns end",
        ),
        rw("far_port", 5, "sets the port of each of the other switches that leads to this one"),
    ),
    Register(
        "link_timeout",
        "Sets when PARTIALs are sent again.",
        rw(
            "link_timeout",
            32,
            "sets the number of cycles without an ACK of the oldest PARTIAL after which all"
            " PARTIALs without ACK are sent again",
            init=LINK_TIMEOUT,
        ),
    ),
)

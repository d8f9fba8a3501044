"""Names what the host tells a MAC, and what it hears of it."""

from enum import IntEnum

from amaranth.lib import data

from hdl.common.packets import PRIORITY_COUNT

EVENTS = ("dropped", "broken", "foreign", "corrected", "uncorrected", "symbol_errors")
CLASSES = ("reads", "responses")  #: classes of NetSparse's packets, by index
#: classes that are paused apart, by how the flow of a link is controlled: not at all, by the kind
#: of NetSparse's packets, each with a stream of its own, or by priority, all of them in one stream
FLOWS = {
    "none": (),
    "kinds": CLASSES,
    "priorities": tuple(f"priority_{k}" for k in range(PRIORITY_COUNT)),
}


def events_of(flow: str) -> tuple[str, ...]:
    """List what is counted of a MAC whose flow is controlled as FLOWS says.

    Of each class: cycles of the MAC in which the far end paused it, and pauses that we asked for.
    """
    pauses = (f"{event}_{name}" for name in FLOWS[flow] for event in ("paused", "pauses"))
    return (*EVENTS, *pauses)


PCS_LANES = 20  #: lanes of 100GBASE-R, four or five on each of the four lanes
FEC_LANES = 4


class Loopback(IntEnum):
    """Names how what a transceiver sends comes back in it (UG578, ``LOOPBACK[2:0]``)."""

    NONE = 0
    NEAR_END_PCS = 1
    NEAR_END_PMA = 2


SETTINGS = data.StructLayout({"rsfec": 1, "loopback": 2})

#: asks, by a bit that changes, for a reset: of all, of the transmit, or of the receive datapath
DEMANDS = data.StructLayout({"whole": 1, "transmit": 1, "receive": 1})

#: levels, each for itself; PG203, "Status/Control" and RS-FEC "Common Ports", says what they mean
STATUS = data.StructLayout(
    {
        "linked": 1,
        "aligned": 1,
        "received": 1,
        "local_fault": 1,
        "remote_fault": 1,
        "transmit_ready": 1,
        "receive_ready": 1,
        "fec_aligned": 1,
        "fec_locked": FEC_LANES,
        "block_locked": PCS_LANES,
        "synced": PCS_LANES,
    }
)

#: levels that are high for a while when something has happened
HAPPENINGS = data.StructLayout({"watchdog": 1, "underflow": 1, "overflow": 1})

LEVELS = data.StructLayout({"status": STATUS, "happenings": HAPPENINGS})

RARE_BITS = 12  #: width of a count of what is rare; it begins again at 0

#: counts packets of each direction that a reset has lost, as the core's clock finds in a cycle
CUTS = data.StructLayout({"transmit": RARE_BITS, "receive": RARE_BITS})

"""Names what SwitchGNN's switch counts beside verdicts: of each port, and as a whole."""

from hdl.common.event_counters import CountersParams
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.task_sequencer import ROW_EVENTS

PORT_COUNTERS = CountersParams(
    name="port",
    counters=tuple(
        (name, 1)
        for name in (
            "overflows",  # frames lost as the port's queue was full
            "results",  # RESULTs that left, repeated ones too
            "raws",  # RAWs that left
            "marks",  # frames that left and say that the port is congested
            "raws_dropped",  # RAWs that the port did not take in time
            "requests_dropped",  # RAWFETCHes for which there was no room
        )
    ),
)

#: Names the counters of a port in a switch whose ports may lead to other switches.
LINK_PORT_COUNTERS = CountersParams(
    name="link_port",
    counters=(
        *PORT_COUNTERS.counters,
        ("partials", 1),  # PARTIALs that left for another switch, repeated ones too
        ("partials_again", 1),  # of them those that were repeated
        ("acks_unknown", 1),  # ACKs of what was never sent: no switch says so
    ),
)

TOTAL_COUNTERS = CountersParams(
    name="total",
    counters=(
        *ROW_EVENTS.counters,
        ("additions", 5),  # into aggregators
        ("reads", 1),  # of aggregators, for a RESULT
        ("turns", 4),  # that have ended
    ),
)


def port_counters(params: GnnSwitchParams) -> CountersParams:
    """Return the counters of a port."""
    return LINK_PORT_COUNTERS if params.links else PORT_COUNTERS

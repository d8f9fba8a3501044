"""Lists the counters of SwitchGNN's switch besides verdicts: of each port, and of the whole."""

from hdl.common.event_counters import CountersParams
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.tasks.task_sequencer import ROW_EVENTS

PORT_COUNTERS = CountersParams(
    name="gnn_port",
    counters=tuple(
        (name, 1)
        for name in (
            "overflows",  # frames lost because the port's queue was full
            "results",  # RESULTs that left, repeated ones included
            "raws",  # RAWs that left
            "marks",  # frames with a congestion mark that left
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
        ("partials", 1),  # PARTIALs that left for another switch, repeated ones included
        ("partials_again", 1),  # repeated ones of these
        ("acks_unknown", 1),  # ACKs of PARTIALs that were never sent
    ),
)

TOTAL_COUNTERS = CountersParams(
    name="gnn_total",
    counters=(
        *ROW_EVENTS.counters,
        ("additions", 5),  # additions to aggregators
        ("reads", 1),  # reads of aggregators, for a RESULT
        ("turns", 4),  # turns that have ended
    ),
)


def port_counters(params: GnnSwitchParams) -> CountersParams:
    """Return the counters of a port."""
    return LINK_PORT_COUNTERS if params.links else PORT_COUNTERS

from hdl.switch.forwarding.ingress import ForwardingIngress
from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from hdl.u280.flow_control import FlowControlParams
from tests.rejects import rejects

#: cycles from a beat in a packet memory to ``pause``, and between a MAC's clock and the core's
COUNTING, CROSSING = 4, 6

test_rejects = rejects(
    lambda **sizes: ForwardingParams(**PRESETS["tiny"] | sizes),
    ({"output_beats": 31}, "output_beats must be at least 32, for the longest packet: 31"),
    ({"headroom": 97}, "beats must be at least 2 times 129, for the headroom and the longest pac"),
    ({"recognisers": ((),) * 15}, "recognisers must be of at most 14 engines: 15"),
    ({"classes": 3}, "classes must be one of 2, 4, 8: 3"),
    match="{}.*",
)


def test_headroom_is_that_of_100_metres_of_fibre():
    """A beat may come in each cycle that the switch itself takes until it asks for a pause."""
    own = ForwardingIngress.latency + COUNTING + CROSSING
    assert ForwardingParams().headroom >= FlowControlParams().headroom + own

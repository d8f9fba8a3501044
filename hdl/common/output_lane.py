"""Registers wide beats that leave a queue, in lanes with an enable each."""

from typing import Any

from amaranth.hdl import DomainRenamer, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.params import Params, whole
from hdl.common.streams import LANE_BITS


class OutputLaneParams(Params, suffix="{bits}"):
    """Sets the width of a lane."""

    bits: int = whole(1, LANE_BITS)  #: width of the lane


class OutputLane(Component):
    """Holds bits of a beat in ``payload`` until ``ready``, then loads ``i`` if there is ``some``.

    Each lane of a beat decides by a register of its own whether it holds one, so that no enable
    drives more registers than a lane has. A low ``runs`` empties it. Latency: ``latency``.
    Registers: ``payload``, ``valid``; a boundary keeps those of equal lanes from being merged.
    """

    latency = 1
    keeps_boundary = True

    def __init__(self, params: OutputLaneParams) -> None:
        bits = params.bits
        flags = dict.fromkeys(("some", "runs", "ready"), In(1))
        super().__init__(params, i=In(bits), payload=Out(bits), **flags)

    def build(self, m: Module) -> None:
        payload = Signal(self.params.bits, reset_less=True)
        valid = Signal()
        advances = ~valid | self.ready
        m.d.sync += valid.eq(self.runs & Mux(advances, self.some, 1))
        with m.If(advances):
            m.d.sync += payload.eq(self.i)
        m.d.comb += self.payload.eq(payload)


def add_lanes(
    m: Module, word: Value, o: Any, some: Value, *, runs: Value | int = 1, domain: str = "sync"
) -> None:
    """Add the lanes that register ``word`` for stream ``o``; all of them move at the same time.

    Who calls keeps a ``valid`` by the same rule.
    """
    for index, start in enumerate(range(0, len(word), LANE_BITS)):
        bits = word[start : start + LANE_BITS]
        lane = OutputLane(OutputLaneParams(bits=len(bits)))
        m.submodules[f"output_{index}"] = DomainRenamer(domain)(lane)
        m.d.comb += [
            lane.i.eq(bits),
            lane.some.eq(some),
            lane.runs.eq(runs),
            lane.ready.eq(o.ready),
            Value.cast(o.payload)[start : start + LANE_BITS].eq(lane.payload),
        ]

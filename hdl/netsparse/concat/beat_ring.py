"""Holds beats of packets in a ring, and reads a window that begins in any lane."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import looked_up
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.netsparse.concat.deconcatenator_params import LANES, PR_LANES, DeconcatenatorParams
from hdl.netsparse.protocol import PR_LAYER

LANE_BITS = AXIS.data_bits // LANES


class BeatRing(Component):
    """Holds ``params.places`` beats, and reads a window on them: ``header`` begins in its lane 0.

    ``data`` begins in lane 0 as well, or after ``header`` if the window has a header. ``push``
    appends ``beat``; ``drops`` beats are removed at the front. With ``turns`` the next window
    begins in lane ``lane`` of the beat that is then at the front, ``with_header`` or not; with
    ``restarts``, which may come late in the cycle, it begins in lane 0 and has a header. Beats are
    not counted here: lanes of a window whose beats have not come are undefined.

    Each lane has a memory of its own, because a window takes lanes from different beats; the lanes
    are then rotated. Latency: a beat and a window take effect in the next cycle.
    """

    latency = 1

    def __init__(self, params: DeconcatenatorParams) -> None:
        self.data_lanes = params.max_lanes - PR_LANES
        super().__init__(
            params,
            push=In(1),
            beat=In(AXIS.data_bits),
            drops=In(range(params.span + 1)),
            turns=In(1),
            restarts=In(1),
            lane=In(range(LANES)),
            with_header=In(1),
            header=Out(PR_LAYER.size),
            data=Out(8 * BEAT_BYTES * params.payload),
        )

    def build(self, m: Module) -> None:
        depth = 1 << ceil_log2(self.params.places)
        head = Signal(range(depth))
        tail = Signal(range(depth))
        m.d.sync += [
            head.eq(looked_up(added, head, self.drops, bits=len(head))),
            tail.eq(tail + self.push),
        ]
        lanes = []
        for k in range(LANES):
            m.submodules[f"lane_{k}"] = lane = Memory(
                shape=LANE_BITS, depth=depth, init=[], attrs={"ram_style": "distributed"}
            )
            write = lane.write_port()
            m.d.comb += [
                write.en.eq(self.push),
                write.addr.eq(tail),
                write.data.eq(self.beat.word_select(k, LANE_BITS)),
            ]
            lanes.append(lane)
        self.add_window(m, "header", lanes, head, self.lane, 0, self.header)
        if self.params.payload:
            start = Signal(range(LANES + PR_LANES))
            m.d.comb += start.eq(self.lane + Mux(self.with_header, PR_LANES, 0))
            data = self.data[: LANE_BITS * self.data_lanes]
            self.add_window(m, "data", lanes, head, start, PR_LANES, data)

    def add_window(
        self, m: Module, name: str, lanes, head: Signal, start: Value, restart: int, window
    ) -> None:
        """Add ``window``, which begins in lane ``start`` of the beat at ``head`` or of the next
        one, or in lane ``restart`` if it restarts.
        """
        at = Signal(range(LANES), name=f"{name}_at", reset_less=True)
        beyond = Signal(name=f"{name}_beyond", reset_less=True)
        count = len(window) // LANE_BITS
        # Lanes that come from the next beat; never the last lane, since a window begins in one.
        below = Signal(min(count, LANES) - 1, name=f"{name}_below", reset_less=True)
        lanes_below = (~(Const(-1, LANES) << start[: len(at)]))[: len(below)]
        with m.If(self.turns):
            m.d.sync += [
                at.eq(Mux(self.restarts, restart, start[: len(at)])),
                beyond.eq(~self.restarts & (start >= LANES)),
                below.eq(Mux(self.restarts, (1 << min(restart, len(below))) - 1, lanes_below)),
            ]
        taken = []
        for k, lane in enumerate(lanes):
            read = lane.read_port(domain="comb")
            later = below[k : k + 1]  # no bit for lanes that never come from the next beat
            m.d.comb += read.addr.eq(looked_up(added, head, beyond, *later, bits=len(head)))
            taken.append(read.data)
        m.d.comb += window.eq(Cat(turned(m, name, taken, at)[:count]))


def added(*numbers: int) -> int:
    """Return the sum of ``numbers``."""
    return sum(numbers)


def turned(m: Module, name: str, lanes: list[Value], by: Value) -> list[Value]:
    """Return ``lanes`` rotated by ``by``, in multiplexers of two, four and four inputs."""
    for step, choice in ((8, by[3:]), (2, by[1:3]), (1, by[:1])):
        provided = [lanes[k * step :] + lanes[: k * step] for k in range(1 << len(choice))]
        lanes = [Signal(LANE_BITS, name=f"{name}_turned_{step}_{k}") for k in range(len(lanes))]
        m.d.comb += [
            lane.eq(
                Mux(choice[-1], Mux(choice[0], w[-1], w[-2]), Mux(choice[0], w[1], w[0]))
                if len(w) == 4
                else Mux(choice, w[1], w[0])
            )
            for lane, w in zip(lanes, zip(*provided, strict=True), strict=True)
        ]
    return lanes

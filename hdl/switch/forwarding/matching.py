"""Matches inputs that are idle with outputs that are, packet by packet, for queues that wait."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.crossbar import add_choice
from hdl.switch.forwarding.params import ForwardingParams


class Matching(Component):
    """Gives inputs a ``turn`` to send to an output: in each cycle some pairs of those that may.

    ``waiting[i * ports + o]`` are the classes with packets from input i for output o, ``open[o]``
    those for which the output has room, ``idle`` the inputs that may have a turn; one that has a
    turn is not idle from the next cycle on, and then sends for the outputs ``sends[i]`` until it is
    idle again. Each output grants one of the inputs that want it, in turn, and each input accepts
    one of the grants, in turn; then the input's classes for this output go in turn.
    ``contended`` says of each input that it could do something else, or another its work, two
    cycles ago. Latency: none, ``turn`` depends on registers of others.
    """

    latency = 0

    def __init__(self, params: ForwardingParams) -> None:
        ports = params.ports
        super().__init__(
            params,
            {
                "waiting": In(params.classes).array(ports * ports),
                "open": In(params.classes).array(ports),
                "idle": In(ports),
                "turn": Out(params.turn).array(ports),
                "contended": Out(ports),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        ports = self.params.ports
        sends = [Signal(ports, name=f"sends_{i}") for i in range(ports)]
        kinds = [
            [self.waiting[i * ports + o] & self.open[o] for o in range(ports)] for i in range(ports)
        ]
        wants = [Cat(kind.any() for kind in row) for row in kinds]
        busy = reduce(or_, (Mux(self.idle[i], 0, sends[i]) for i in range(ports)))
        accepted = [Signal(ports, name=f"accepted_{i}") for i in range(ports)]
        granted = []
        for o in range(ports):
            asks = Cat(wants[i][o] & self.idle[i] & ~busy[o] for i in range(ports))
            taken = Cat(accepted[i][o] for i in range(ports)).any()
            granted.append(add_choice(m, f"output_{o}", asks, taken))
        for i in range(ports):
            offers = Cat(grant[i] for grant in granted)
            m.d.comb += accepted[i].eq(add_choice(m, f"input_{i}", offers, 1))
            self.choose_class(m, i, accepted[i], kinds[i])
            with m.If(accepted[i].any()):
                m.d.sync += sends[i].eq(accepted[i])
            others = Cat(
                (wants[j][o] if j != i else 0) & sends[i][o]
                for j in range(ports)
                for o in range(ports)
            )
            mine = Cat(self.waiting[i * ports + o].any() & ~sends[i][o] for o in range(ports))
            m.d.sync += self.contended[i].eq(others.any() | mine.any())
        return m

    def choose_class(self, m: Module, i: int, accepted: Value, kinds: list[Value]) -> None:
        """Set the turn of input ``i``: the accepted output, and one of the classes for it."""
        turn = self.turn[i]
        classes = reduce(or_, (Mux(accepted[o], kind, 0) for o, kind in enumerate(kinds)))
        chosen = add_choice(m, f"class_{i}", classes, 1)
        m.d.comb += [
            turn.valid.eq(accepted.any()),
            turn.output.eq(accepted),
            turn.class_.eq(index_of(chosen)),
        ]

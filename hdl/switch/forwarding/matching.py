"""Matches inputs that are idle with outputs that are, for packets that wait."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.crossbar import add_choice
from hdl.common.round_robin import first_of
from hdl.switch.forwarding.params import ForwardingParams


class Matching(Component):
    """Gives inputs a ``turn`` to send to an output: in each cycle some pairs of those that may.

    ``requesting[i * ports + o]`` has the classes with packets from input i for output o. An input
    may have a turn while it is ``idle``; it is not from the next cycle on, until its turn is over.
    Each output grants one of the inputs that request it, in turn, and each input accepts one of the
    grants, in turn; which of several classes is sent changes with the cycle. ``contended`` says of
    each input that another one requests its output, or that it requests another one. Latency: none;
    an output can have a turn again two cycles after its input is idle.
    """

    latency = 0

    def __init__(self, params: ForwardingParams) -> None:
        ports = params.ports
        super().__init__(
            params,
            requesting=In(params.classes).array(ports * ports),
            idle=In(ports),
            turn=Out(params.turn).array(ports),
            contended=Out(ports),
        )

    def build(self, m: Module) -> None:
        ports, requesting = self.params.ports, self.requesting
        some = [Signal(ports, name=f"some_{i}") for i in range(ports)]
        m.d.comb += [
            some[i][o].eq(requesting[i * ports + o].any())
            for i in range(ports)
            for o in range(ports)
        ]
        sends, accepted = (
            [Signal(ports, name=f"{name}_{i}") for i in range(ports)]
            for name in ("sends", "accepted")
        )
        busy = Signal(ports)
        grants = []
        for o in range(ports):
            requests = Signal(ports, name=f"requests_{o}")
            inputs = Cat(some[i][o] for i in range(ports))
            m.d.comb += requests.eq(Mux(busy[o], 0, inputs & self.idle))
            taken = Cat(accepted[i][o] for i in range(ports)).any()
            grants.append(add_choice(m, f"output_{o}", requests, taken))
            under_way = Cat(sends[i][o] & ~self.idle[i] for i in range(ports)).any()
            m.d.sync += busy[o].eq(taken | under_way)
        first = Signal(self.params.class_bits)
        m.d.sync += first.eq(first + 1)
        for i in range(ports):
            offers = Cat(grant[i] for grant in grants)
            m.d.comb += accepted[i].eq(add_choice(m, f"input_{i}", offers, Const(1)))
            with m.If(accepted[i].any()):
                m.d.sync += sends[i].eq(accepted[i])
            self.contend(m, i, some, sends[i])
            classes = [
                self.choose_class(m, f"{i}_{o}", requesting[i * ports + o], first)
                for o in range(ports)
            ]
            chosen = reduce(or_, (Mux(accepted[i][o], c, 0) for o, c in enumerate(classes)))
            m.d.comb += [
                self.turn[i].valid.eq(offers.any()),
                self.turn[i].output.eq(accepted[i]),
                self.turn[i].class_.eq(chosen),
            ]

    def choose_class(self, m: Module, name: str, requesting: Value, first: Value) -> Value:
        """Return one of the classes that are requested, ``first`` or the next."""
        ahead, class_ = (
            Signal(len(requesting), name=f"ahead_{name}"),
            Signal.like(first, name=f"class_{name}"),
        )
        m.d.comb += [
            ahead.eq(Cat(bit & (first <= k) for k, bit in enumerate(requesting))),
            class_.eq(index_of(first_of(ahead, requesting))),
        ]
        return class_

    def contend(self, m: Module, i: int, some: list[Signal], sends: Value) -> None:
        """Say whether input ``i`` should leave its turn to others when it may."""
        ports = range(self.params.ports)
        others = Cat(some[j] & sends for j in ports if j != i)
        m.d.sync += self.contended[i].eq(others.any() | (some[i] & ~sends).any())

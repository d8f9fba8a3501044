"""Decides which banks send answers at the same time: those whose answers share no port."""

from itertools import combinations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.common.component import Component


class MulticastTurns(Component):
    """Lets banks ``take`` the answers that are ``waiting``, each for all of its ports at once.

    A bank may take its next answer if it is ``free`` and none of the answer's ports is ``held`` by
    a frame of another bank that has further beats, or is waited for by a bank that goes first. The
    bank that goes first of all moves on by one in every cycle, but it stays while that bank waits.
    So each answer is taken in the end, whatever the others wait for.

    Throughput: an answer a cycle for each set of ports. Latency: none.
    """

    latency = 0

    def __init__(self, params: AllReduceSwitchParams) -> None:
        ports = data.ArrayLayout(params.ports, params.banks)
        super().__init__(
            params,
            waiting=In(ports),
            free=In(params.banks),
            held=In(ports),
            take=Out(params.banks),
        )

    def build(self, m: Module) -> None:
        banks = self.params.banks
        top = Signal(banks, init=1)  # the bank that goes first of all
        later = Signal(banks)  # top, if it has been served
        busy = Signal(self.params.ports)
        for ports in self.held:
            busy = busy | ports
        blocked: list[list] = [[] for _ in range(banks)]
        for lower, upper in combinations(range(banks), 2):
            meet = (self.waiting[lower] & self.waiting[upper]).any()
            upper_first = Signal(name=f"turn_{upper}_before_{lower}")
            m.d.sync += upper_first.eq(later[lower + 1 : upper + 1].any())
            blocked[lower].append(meet & upper_first)
            blocked[upper].append(meet & ~upper_first)
        for k, others in enumerate(blocked):
            waits = self.waiting[k].any()
            stopped = (self.waiting[k] & busy).any() | Cat(others).any()
            m.d.comb += self.take[k].eq(waits & self.free[k] & ~stopped)
        stays = (top & Cat(ports.any() for ports in self.waiting) & ~self.take).any()
        m.d.comb += later.eq(Mux(stays, top, top.rotate_left(1)))
        m.d.sync += top.eq(later)

"""Tracks which turns are over, open, loaded and begun."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switchgnn.endpoint.bundles import SLOTS
from hdl.switchgnn.endpoint.params import EndpointParams

SETTLING = 3  #: cycles after a change in which nothing else is decided


class Progress(Component):
    """Counts the turns of a job: ``lo`` is the oldest open one, of ``turns`` in all.

    ``load`` requests ``loading``, the next turn to load, until ``loaded``; turns that are open are
    loaded and, in advance, the turns after them, as long as there are slots. ``begin`` starts the
    sending of turn ``beginning`` when that is open (with ``two_open`` two turns are), is loaded,
    and is one of the ``ready`` turns whose features are in memory, and when ``free`` says that all
    frames of the turn before have left and were acknowledged. ``advance`` ends turn ``lo``; if its
    sending has not begun, it is skipped, and if it is being sent, ``end`` pulses. ``is_open``,
    ``is_loaded`` and ``has_begun`` are about ``lo`` and the turn after it. ``finished``: all turns
    are over. ``waits``: the next turn could begin, but its features are not in memory.

    Latency: 2 cycles from a change to its consequences.
    """

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            turns=In(32),
            ready=In(32),
            two_open=In(1),
            free=In(1),
            load=Out(1),
            loading=Out(32),
            loaded=In(1),
            begin=Out(1),
            beginning=Out(32),
            end=Out(1),
            advance=In(1),
            lo=Out(32),
            next=Out(32),
            is_open=Out(2),
            is_loaded=Out(2),
            has_begun=Out(2),
            finished=Out(1),
            waits=Out(1),
        )

    def build(self, m: Module) -> None:
        loaded = Signal(range(SLOTS + 1))  # number of loaded turns from lo on
        begun = Signal(range(3))  # number of turns from lo on that have begun
        settling = Signal(SETTLING, init=(1 << SETTLING) - 1)
        calm = ~settling.any()
        following = Signal(32, init=1)
        may_begin = Signal()
        may_load = Signal()
        ready = Signal()
        due = Signal()  # a turn begins, unless another ends
        changes = Signal()
        m.d.comb += [
            self.next.eq(following),
            due.eq(may_begin & ready & calm & self.free),
            changes.eq(self.advance | self.loaded | due),
            self.load.eq(may_load & calm),
            self.begin.eq(due & ~self.advance),
            self.waits.eq(may_begin & ~ready & self.free),
            self.end.eq(self.advance & (begun == 1)),
            self.is_loaded.eq(Mux(loaded > 1, 3, loaded.any())),
            self.has_begun.eq(Mux(begun > 1, 3, begun)),
        ]
        m.d.sync += [
            settling.eq(Mux(changes, (1 << SETTLING) - 1, settling >> 1)),
            may_load.eq((loaded != SLOTS) & (self.loading != self.turns)),
            # Only turns of the job are loaded, so ``turns`` need not be compared.
            may_begin.eq((begun < Mux(self.two_open, 2, 1)) & (begun < loaded)),
            ready.eq(self.beginning < self.ready),
            self.finished.eq(self.lo == self.turns),
            self.is_open[0].eq(self.lo != self.turns),
            self.is_open[1].eq(self.two_open & (self.lo != self.turns) & (following != self.turns)),
            loaded.eq((loaded + self.loaded - self.advance)[: len(loaded)]),
        ]
        with m.If(self.loaded):
            m.d.sync += self.loading.eq(self.loading + 1)
        with m.If(self.advance):
            m.d.sync += [self.lo.eq(following), following.eq(following + 1)]
            with m.If(begun.any()):
                m.d.sync += begun.eq(begun - 1)
            with m.Else():
                m.d.sync += self.beginning.eq(self.beginning + 1)
        with m.Elif(self.begin):
            m.d.sync += [begun.eq(begun + 1), self.beginning.eq(self.beginning + 1)]
        expect(m, self, ends_what_is_loaded=lambda: ~self.advance | loaded.any())

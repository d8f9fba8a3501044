"""Decides when a job runs, how it ends, and why."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.endpoint.bundles import Cause, State
from hdl.switchgnn.endpoint.params import EndpointParams

CALM = 4  #: idle cycles after which a job has ended


class Control(Component):
    """Starts a job with ``start``, and ends it after ``stop``, ``finished`` or a failure.

    ``start`` has no effect while a job runs or stops, and ``stop`` has none unless a job runs.
    While there is no job ``run`` is low, and the job's hardware is in ``reset``; this and ``halt``
    are registers of their own because of their long wires. A job ends through the state STOPPING,
    in which ``halt`` lets no transfer begin, as it does from the cycle after a failure,
    until ``quiet`` says that no bus owes an answer and ``inside`` is low: no frame is leaving. The
    first of ``failures``, whose bits are those of :class:`Cause` from TABLES on, is kept as
    ``cause`` until the next start.
    """

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            start=In(1),
            stop=In(1),
            finished=In(1),
            failures=In(len(Cause) - 1),
            quiet=In(1),
            inside=In(1),
            state=Out(State),
            cause=Out(Cause),
            run=Out(1),
            reset=Out(1),
            halt=Out(1),
        )

    def build(self, m: Module) -> None:
        calm = Signal(CALM)
        finished = Signal()
        reset = Signal(init=1)
        failed = self.cause != Cause.NONE
        runs = (self.state == State.RUNNING) | (self.state == State.STOPPING)
        m.d.sync += [self.run.eq(runs), reset.eq(~runs)]
        m.d.comb += self.reset.eq(reset)
        with m.Switch(self.state):
            with m.Case(State.RUNNING):
                m.d.sync += calm.eq(0)
                with m.If(self.run & (self.stop | self.finished | failed)):
                    m.d.sync += [
                        self.state.eq(State.STOPPING),
                        finished.eq(self.finished & ~self.stop),
                    ]
                with m.If(self.run & (self.stop | self.finished | self.failures.any())):
                    m.d.sync += self.halt.eq(1)
                for k, cause in reversed(list(enumerate(list(Cause)[1:]))):
                    with m.If(self.run & self.failures[k] & ~failed):
                        m.d.sync += self.cause.eq(cause)
            with m.Case(State.STOPPING):
                m.d.sync += calm.eq(Mux(self.quiet & ~self.inside, Cat(Const(1, 1), calm[:-1]), 0))
                with m.If(calm.all()):
                    m.d.sync += [
                        self.state.eq(
                            Mux(failed, State.FAILED, Mux(finished, State.FINISHED, State.IDLE))
                        ),
                        self.run.eq(0),
                        self.halt.eq(0),
                        reset.eq(1),
                    ]
            with m.Default(), m.If(self.start):
                m.d.sync += [self.state.eq(State.RUNNING), self.cause.eq(Cause.NONE)]

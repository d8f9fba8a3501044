"""Command and completion: a RIG command from its start to its end, whatever comes between."""

from amaranth.hdl import Module, Signal
from amaranth.lib import enum, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.netsparse.rig.params import COMPLETION, FAILURES, WATCHDOG_BITS, Cause, RigParams


class State(enum.Enum, shape=3):
    """Where a command is."""

    IDLE = 0
    JUDGE = 1  #: can it be done?
    RUN = 2
    DRAIN = 3  #: it failed: all that is under way comes to its end
    REPORT = 4  #: the host has yet to be told


class RigControl(Component):
    """Takes ``commands`` one after another; each ends in one of ``completions``.

    A command without a ``cause`` begins with ``start``, its fields in ``command``; any other is
    over at once. It is done when the parts have ``finished``. The first of ``failures``, or
    ``watchdog`` cycles without ``progress``, ends it as failed: then ``cancel`` is high until the
    parts have ``drained``, with ``forget`` in its last cycle, which empties the pending table.
    ``generation`` is another for every command, and again when one fails, so that what comes late
    is known (NetSparse, section 7, 1). Of failures in the same cycle the one with the lowest
    number is told.

    Latency: :attr:`start_latency` from a command taken at rest to ``start``.
    """

    start_latency = 2

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            {
                "commands": In(stream.Signature(params.command)),
                "completions": Out(stream.Signature(COMPLETION)),
                "command": Out(params.command),
                "start": Out(1),
                "cancel": Out(1),
                "forget": Out(1),
                "running": Out(1),
                "generation": Out(params.generation_bits),
                "failures": In(FAILURES),
                "progress": In(1),
                "finished": In(1),
                "drained": In(1),
                "busy": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.queue = queue = Fifo(
            FifoParams(width=self.params.command.size, depth=self.params.commands)
        )
        state = Signal(State)
        command = Signal(self.params.command, reset_less=True)
        cause = Signal(Cause)
        expired = self.watch(m, state, command)
        m.d.comb += [
            queue.i.payload.eq(self.commands.payload),
            queue.i.valid.eq(self.commands.valid),
            self.commands.ready.eq(queue.i.ready),
            queue.o.ready.eq(state == State.IDLE),
            self.command.eq(command),
            self.completions.payload.tag.eq(command.tag),
            self.completions.payload.cause.eq(cause),
            self.completions.valid.eq(state == State.REPORT),
            self.cancel.eq(state == State.DRAIN),
            self.running.eq((state == State.RUN) | (state == State.DRAIN)),
            self.busy.eq((state != State.IDLE) | queue.o.valid),
        ]
        with m.Switch(state):
            with m.Case(State.IDLE), m.If(queue.o.valid):
                m.d.sync += [command.eq(queue.o.payload), state.eq(State.JUDGE)]
            with m.Case(State.JUDGE):
                m.d.comb += self.start.eq(command.cause == Cause.DONE)
                m.d.sync += [
                    state.eq(State.RUN),
                    cause.eq(Cause.DONE),
                    self.generation.eq(self.generation + 1),
                ]
                with m.If(~self.start):
                    m.d.sync += [state.eq(State.REPORT), cause.eq(command.cause)]
            with m.Case(State.RUN):
                failures = self.failures.as_value()
                with m.If(failures.any() | expired):
                    m.d.sync += [state.eq(State.DRAIN), self.generation.eq(self.generation + 1)]
                with m.Elif(self.finished):
                    m.d.sync += state.eq(State.REPORT)
                m.d.sync += cause.eq(Cause.DONE)
                with m.If(expired):
                    m.d.sync += cause.eq(Cause.WATCHDOG)
                for name in reversed(FAILURES.members):
                    with m.If(self.failures[name]):
                        m.d.sync += cause.eq(Cause[name.upper()])
            with m.Case(State.DRAIN), m.If(self.drained):
                m.d.comb += self.forget.eq(1)
                m.d.sync += state.eq(State.REPORT)
            with m.Case(State.REPORT), m.If(self.completions.ready):
                m.d.sync += state.eq(State.IDLE)
        return m

    def watch(self, m: Module, state, command) -> Signal:
        """Count cycles without progress; high when they are too many."""
        idle = Signal(WATCHDOG_BITS)
        expired = Signal()
        m.d.sync += [
            idle.eq(idle + 1),
            expired.eq((idle == command.watchdog) & command.watchdog.any()),
        ]
        with m.If(self.progress | (state != State.RUN)):
            m.d.sync += [idle.eq(0), expired.eq(0)]
        return expired

"""Carries out a reset of the function that the host asks for, in the middle of traffic."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component

HEARD = 4  #: cycles of ``stop`` until ``idle`` tells of all that was begun before
TICKS = 2  #: after which a reset does not wait any longer


class FunctionReset(Component):
    """``stop`` and ``clear`` what is under way of a requester, then say that it is ``done``.

    ``in_process`` is ``cfg_flr_in_process`` of the function: the block raises it when the host sets
    the bit that resets the function (FLR), and holds it until ``done``, ``cfg_flr_done``, is high
    (PG213, "Configuration Control Interface"). Meanwhile nothing may be sent. The block ends the
    function's reads by a completion with an error code of its own, or they are given up.

    ``stop`` goes to a requester, until it is ``idle``: its users have their data, or a cause. Then
    ``clear`` goes to its writes, until it does not ``owe`` any, and to interrupts, and ``done``
    stays high until ``in_process`` falls. A user that does not take its data is not waited for
    longer than two ticks; ``late`` says so, and it finds its requester stopped no longer.

    ``stop`` stays high until the host has made the function a ``master`` of the bus again, whose
    bit the reset clears (``cfg_function_status``, bit 2), because it sends nothing before (PCI
    Express 3.1, 6.6.2 and 7.5.1.1). Latency: a cycle from ``in_process`` or ``master`` to ``stop``.
    """

    latency = 1

    def __init__(self) -> None:
        super().__init__(
            None,
            {
                "in_process": In(1),
                "done": Out(1),
                "master": In(1),
                "tick": In(1),
                "stop": Out(1),
                "idle": In(1),
                "clear": Out(1),
                "owes": In(1),
                "late": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        ticks, over, runs = Signal(range(TICKS + 1)), Signal(), Signal()
        stopped = Signal(HEARD)  # a bit for each cycle, as far as it was in a row
        heard = stopped.all()
        m.d.comb += [over.eq(ticks == TICKS), self.stop.eq(~runs)]
        m.d.sync += [
            ticks.eq(ticks + (self.tick & ~over)),
            stopped.eq(Mux(runs, 0, Cat(self.stop, stopped)[:HEARD])),
        ]
        with m.FSM():
            with m.State("RUN"):
                m.d.sync += [runs.eq(~self.in_process & self.master), ticks.eq(0)]
                with m.If(self.in_process):
                    m.next = "STOP"
            with m.State("STOP"), m.If((self.idle & heard) | over):
                m.d.sync += [self.clear.eq(1), self.late.eq(~self.idle)]
                m.next = "CLEAR"
            with m.State("CLEAR"), m.If(~self.owes | over):
                m.d.sync += [self.clear.eq(0), self.done.eq(1)]
                m.next = "DONE"
            with m.State("DONE"), m.If(~self.in_process):
                m.d.sync += self.done.eq(0)
                m.next = "RUN"
        return m

"""Carries out a reset of the function that the host asks for, in the middle of traffic."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out, Signature

from hdl.common.component import Component

HEARD = 4  #: cycles of ``stop`` until ``idle`` tells of all that was begun before
TICKS = 2  #: after which a reset does not wait any longer

#: What AMD's block says of its function, and is told (PG213, "Configuration Control Interface" and
#: "Configuration Status Interface"). ``in_process``, ``cfg_flr_in_process``: the host resets the
#: function, until ``done``, ``cfg_flr_done``. ``master``, bit 2 of ``cfg_function_status``: the
#: host lets it send requests (PCI Express 3.1, 7.5.1.1); a reset clears that.
FUNCTION = Signature({"in_process": Out(1), "done": In(1), "master": Out(1)})


class FunctionReset(Component):
    """``stop`` and ``clear`` what is under way of a requester, then say that it is ``done``.

    The block raises ``function.in_process`` when the host sets the bit that resets the function
    (FLR), and holds it until ``function.done`` is high. Meanwhile nothing may be sent. The block
    ends the function's reads by a completion with an error code of its own, or they are given up.

    ``stop`` goes to a requester, until it is ``idle``: its users have their data, or a cause. Then
    ``clear`` goes to its writes, until it does not ``owe`` any, and to interrupts, and ``done``
    stays high until ``in_process`` falls. A user that does not take its data is not waited for
    longer than two ticks; ``late`` says so, and it finds its requester stopped no longer.

    ``stop`` stays high until the host has made the function a ``master`` of the bus again, because
    it sends nothing before (PCI Express 3.1, 6.6.2). A function that is no master any more, without
    a reset, is stopped and cleared in the same way. ``begins`` is high for a cycle at the beginning
    of either, and not when the function becomes a master for the first time.
    Latency: a cycle from ``in_process`` or ``master`` to ``stop``, and to ``begins``.
    """

    latency = 1

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            {
                "function": In(FUNCTION),
                "begins": Out(1),
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
        function = self.function
        ticks, over, runs = Signal(range(TICKS + 1)), Signal(), Signal()
        stopped = Signal(HEARD)  # a bit for each cycle, as far as it was in a row
        heard, ends = stopped.all(), Signal()
        m.d.comb += [
            over.eq(ticks == TICKS),
            self.stop.eq(~runs),
            ends.eq(function.in_process | (runs & ~function.master)),
        ]
        m.d.sync += [
            ticks.eq(ticks + (self.tick & ~over)),
            stopped.eq(Mux(runs, 0, Cat(self.stop, stopped)[:HEARD])),
            self.begins.eq(0),
        ]
        with m.FSM():
            with m.State("RUN"):
                m.d.sync += [runs.eq(~function.in_process & function.master), ticks.eq(0)]
                with m.If(ends):
                    m.d.sync += self.begins.eq(1)
                    m.next = "STOP"
            with m.State("STOP"), m.If((self.idle & heard) | over):
                m.d.sync += [self.clear.eq(1), self.late.eq(~self.idle)]
                m.next = "CLEAR"
            with m.State("CLEAR"), m.If(~self.owes | over):
                m.d.sync += self.clear.eq(0)
                m.next = "DONE"
            with m.State("DONE"):
                m.d.sync += function.done.eq(function.in_process)
                with m.If(~function.in_process):
                    m.next = "RUN"
        return m

"""Carries out a function-level reset (FLR) that the host requests in the middle of traffic."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out, Signature

from hdl.common.component import Component

HEARD = 4  #: cycles of ``stop`` after which ``idle`` covers all that was begun before
TICKS = 2  #: ticks after which a reset waits no longer

#: Describes the handshake of AMD's block for a reset of the function (PG213, "Configuration Control
#: Interface" and "Configuration Status Interface"). ``in_process`` is ``cfg_flr_in_process``: the
#: host resets the function, until ``done``, which is ``cfg_flr_done``. ``master`` is bit 2 of
#: ``cfg_function_status``, Bus Master Enable: the host lets the function send requests (PCI Express
#: 3.1, 7.5.1.1); a reset clears it.
FUNCTION = Signature({"in_process": Out(1), "done": In(1), "master": Out(1)})


class FunctionReset(Component):
    """Stops and clears what a requester has under way, then answers the block with ``done``.

    The block raises ``function.in_process`` when the host sets the bit that resets the function
    (FLR), and holds it until ``function.done`` is high. Nothing may be sent meanwhile. The block
    ends each read of the function by a completion with an error code of its own; a read without one
    is abandoned.

    ``stop`` goes to the requester, which becomes ``idle`` when each user has its data or the cause
    of the failure. Then ``clear`` goes to its writes and to the interrupts, until ``owes`` is low.
    Then ``done`` is high until ``in_process`` falls. If a user does not take its data, the reset
    goes on after two ticks all the same, and ``late`` is set.

    ``stop`` stays high until the host has made the function a bus ``master`` again, because a
    function may send nothing before (PCI Express 3.1, 6.6.2). If ``master`` falls without a reset,
    the requester is stopped and cleared in the same way. ``begins`` pulses for a cycle at the
    beginning of either; it does not when the function becomes a bus master for the first time.
    Latency: a cycle from ``in_process`` or ``master`` to ``stop``, and to ``begins``.
    """

    latency = 1

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            function=In(FUNCTION),
            begins=Out(1),
            tick=In(1),
            stop=Out(1),
            idle=In(1),
            clear=Out(1),
            owes=In(1),
            late=Out(1),
        )

    def build(self, m: Module) -> None:
        function = self.function
        ticks, over, runs = Signal(range(TICKS + 1)), Signal(), Signal()
        stopped = Signal(HEARD)  # shift register: cycles in a row with ``stop`` high
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

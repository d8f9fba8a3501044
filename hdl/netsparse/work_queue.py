"""The host's work requests to the units, and the units' completions to the host."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
from hdl.netsparse.params import SnicParams
from hdl.netsparse.request_check import RequestCheck
from hdl.netsparse.rig.params import COMPLETION

COMPLETIONS = 64  #: that wait for the host; then units wait with theirs


class WorkQueue(Component):
    """Gives ``request`` to ``unit`` with ``submit``; collects ``completions`` in their order.

    A request for a unit that is none of ``clients``, or whose queue is full, is ``refused``,
    which stays until the next one. A request that can never be done is taken, and its unit ends
    it at once with a cause (:class:`RequestCheck`: ``filter``, ``filter_illegal`` and
    ``clear_filter`` are its). ``completion``, while ``completion_valid``, is the oldest; ``next``
    drops it.
    """

    def __init__(self, params: SnicParams) -> None:
        rig = params.rig
        super().__init__(
            params,
            {
                "submit": In(1),
                "unit": In(5),
                "request": In(rig.request),
                "filter": In(1),
                "filter_illegal": In(1),
                "clear_filter": In(1),
                "clients": In(params.units),
                "refused": Out(1),
                "commands": Out(stream.Signature(rig.command)).array(params.units),
                "completions": In(stream.Signature(COMPLETION)).array(params.units),
                "next": In(1),
                "completion": Out(params.completed),
                "completion_valid": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        units = self.params.units
        m.submodules.arbiter = arbiter = StreamArbiter(
            StreamArbiterParams(width=COMPLETION.size, count=units)
        )
        m.submodules.completed = completed = Fifo(
            FifoParams(width=self.params.completed.size, depth=COMPLETIONS)
        )
        completion = Signal(self.params.completed)
        taken = Signal(units)
        m.submodules.check = check = RequestCheck(self.params)
        m.d.comb += [
            check.request.eq(self.request),
            check.filter.eq(self.filter),
            check.filter_illegal.eq(self.filter_illegal),
            check.clear.eq(self.clear_filter),
            check.taken.eq(taken.any()),
            check.ended.eq(completed.i.valid & completed.i.ready),
            completion.unit.eq(arbiter.o.payload.index),
            completion.completion.eq(arbiter.o.payload.payload),
            completed.i.payload.eq(completion),
            completed.i.valid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(completed.i.ready),
            self.completion.eq(completed.o.payload),
            self.completion_valid.eq(completed.o.valid),
            completed.o.ready.eq(self.next),
        ]
        for k in range(units):
            commands = self.commands[k]
            m.d.comb += [
                arbiter.i[k].payload.eq(self.completions[k].payload),
                arbiter.i[k].valid.eq(self.completions[k].valid),
                self.completions[k].ready.eq(arbiter.i[k].ready),
                taken[k].eq(commands.valid & commands.ready),
                commands.payload.eq(check.command),
                commands.valid.eq(self.submit & (self.unit == k) & self.clients[k]),
            ]
        with m.If(self.submit):
            m.d.sync += self.refused.eq(~taken.any())
        return m

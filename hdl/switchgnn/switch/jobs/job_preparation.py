"""Ensures that a job becomes active only when nothing of its earlier run is left."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.tasks.task_params import TaskKind

#: Number of cycles until all frames of the earlier run that have left the ports are tasks.
UNDER_WAY = 12
QUIET = 32  #: cycles without a sum of an earlier run, more than the depth of any pipeline


class JobPreparation(Component):
    """Ensures that nothing of a job's earlier run is left when it is ``prepared``.

    With ``preparing``, ``begin`` is high for a cycle. :data:`UNDER_WAY` cycles later a FENCE
    follows all tasks of earlier runs; after ``fenced``, no more sums of ports without an active job
    are put into lists. The sums that wait there leave and are dropped, which ``leaving`` reports,
    until :data:`QUIET` cycles have passed without one. ``busy`` says that aggregators are being
    cleared, for which the preparation waits first.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            preparing=In(1),
            busy=In(1),
            begin=Out(1),
            fence=Out(stream.Signature(params.task)),
            fenced=In(1),
            leaving=In(1),
            prepared=Out(1),
        )

    def build(self, m: Module) -> None:
        begun = Signal()
        waited = Signal(range(UNDER_WAY + 1))
        demands = Signal()
        requested = Signal()  # the FENCE is among the tasks
        passed = Signal()  # the FENCE was carried out
        quiet = Signal(range(QUIET + 1))
        m.d.comb += [
            self.begin.eq(self.preparing & ~begun & ~self.busy),
            self.fence.valid.eq(demands),
            self.fence.payload.kind.eq(TaskKind.FENCE),
            self.prepared.eq(quiet == QUIET),
        ]
        with m.If(~self.preparing | self.prepared):
            m.d.sync += [begun.eq(0), waited.eq(0), demands.eq(0)]
            m.d.sync += [requested.eq(0), passed.eq(0), quiet.eq(0)]
        with m.Else():
            with m.If(self.begin):
                m.d.sync += begun.eq(1)
            with m.If(begun & (waited != UNDER_WAY)):
                m.d.sync += [waited.eq(waited + 1), demands.eq(waited == UNDER_WAY - 1)]
            with m.If(demands & self.fence.ready):
                m.d.sync += [demands.eq(0), requested.eq(1)]
            with m.If(requested & self.fenced):
                m.d.sync += passed.eq(1)
            with m.If(~passed | self.leaving):
                m.d.sync += quiet.eq(0)
            with m.Else():
                m.d.sync += quiet.eq(quiet + 1)

"""Connects the upper lanes of all aggregators, which are in another die."""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, index_of, low_bits
from hdl.common.component import Component
from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams
from hdl.switchgnn.switch.banks.lane_sums import LaneSums
from hdl.switchgnn.switch.params import GnnSwitchParams


class FarLanes(Component):
    """Completes each ``delivery`` with the upper half of its sums, from :class:`LaneSums`.

    ``commands`` are the commands of every bank to the memory of its lower lanes, ``payload`` is the
    upper half of the operand that all of them add, and ``read`` has the bank with a READ, each in
    the cycle in which the lower half has it. ``lower`` are the ports that get ``half`` a delivery;
    :attr:`latency` cycles later ``deliver`` has the same ports, and ``delivery`` the whole. A
    feature that is copied is in the lower half.

    No bank waits for an answer of the upper lanes, so they follow the lower ones
    ``params.slr_stages`` cycles later. Their reset has the same delay. Throughput: an addition a
    cycle in every bank, and a delivery. Never stalls.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        self.latency = 2 * params.slr_stages - 1
        super().__init__(
            params,
            commands=In(params.sum_command).array(params.banks),
            payload=In(params.bank_sums),
            read=In(params.banks),
            lower=In(params.ports),
            half=In(params.delivery),
            deliver=Out(params.ports),
            delivery=Out(params.delivery),
        )

    def build(self, m: Module) -> None:
        m.domains.far = ClockDomain(local=True)
        m.d.comb += ClockSignal("far").eq(ClockSignal())
        m.submodules.lanes = lanes = DomainRenamer("far")(LaneSums(self.params))
        read = index_of(self.read, len(lanes.number))
        number = delay(m, read, LaneSums.ahead, "read", reset_less=False)
        near = Cat(*self.commands, self.payload, number, ResetSignal())
        far = Cat(*lanes.commands, lanes.payload, lanes.number, ResetSignal("far"))
        m.d.comb += far.eq(self.carried(m, "far", near))
        sums = low_bits(self.half.sums.as_value(), len(lanes.sums.as_value()))
        waits: dict[str, Value] = {name: self.half[name] for name in self.params.delivery.members}
        waits["sums"] = sums
        late = {name: delay(m, value, self.latency, name) for name, value in waits.items()}
        late["sums"] = Cat(late["sums"], self.carried(m, "back", lanes.sums.as_value()))
        m.d.comb += [
            self.deliver.eq(delay(m, self.lower, self.latency, "lower", reset_less=False)),
            *(Value.cast(self.delivery[name]).eq(value) for name, value in late.items()),
        ]

    def carried(self, m: Module, name: str, wires: Value) -> Value:
        """Return ``wires`` at the other end of the pipeline ``name`` between the dies."""
        sizes = WirePipelineParams(shape=len(wires), stages=self.params.slr_stages)
        m.submodules[name] = path = WirePipeline(sizes)
        m.d.comb += path.i.eq(wires)
        return path.o

"""Connects the switch that adds activations: ports, jobs, slots, registers and counters."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones, delay, low_bits
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.register_block import RegisterBlock
from hdl.p4sgd.network.frame import LANES
from hdl.p4sgd.switch.aggregator import Aggregator
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.registers import constants, switch_registers
from hdl.p4sgd.switch.tenant_wires import command_tenants, count_tenants, report_tenants
from hdl.switch.control_plane import ControlPlane
from hdl.switch.egress import SwitchEgress
from hdl.switch.ingress import SwitchIngress
from hdl.switch.job_registers import command_jobs, report_jobs
from hdl.switch.job_table import JobTable
from hdl.switch.port_counters import PORT_COUNTERS, PortCounters
from hdl.switch.total_counters import TotalCounters
from hdl.switch.verdict_counters import VerdictCounters


class Switch(Component):
    """Answers the partial activations of a job's workers with their sum (P4SGD, section 3.3).

    Worker i of a job is at port i: its frames (:class:`hdl.p4sgd.network.frame.Frame`) come on
    ``s_axis[i]``, and answers leave on ``m_axis[i]``. The host sets addresses, starts and stops
    jobs and reads counters through ``s_axil`` (:mod:`hdl.p4sgd.switch.registers`). Jobs have ports
    and slots of their own. With ``params.tenants``, jobs are tenants, to which the switch is
    granted (:mod:`hdl.switch.tenant_control`); in a tree
    (:class:`hdl.p4sgd.switch.tree_params.TreeSwitchParams`) they may also have a parent at one of
    the ports, to which this switch behaves like a worker.

    Throughput: one packet a cycle over all ports, whatever its slot; ports are granted in
    round-robin order. Latency: :attr:`latency` cycles from a frame taken to its answer valid, if no
    other packet waits. ``s_axis`` is always ready: a port whose queue is full loses frames. A port
    that does not take its answers loses them when its queue is full. Both are counted, and workers
    send again.
    """

    register_map = staticmethod(switch_registers)

    def __init__(self, params: SwitchParams) -> None:
        self.registers = switch_registers(params)
        self.latency = (
            SwitchIngress(params).latency
            + JobTable.latency
            + Aggregator(params).latency
            + SwitchEgress(params).latency
        )
        self.latencies = {"frame taken to its answer, when nothing else waits": self.latency}
        super().__init__(
            params,
            s_axis=In(AXIS).array(params.ports),
            m_axis=Out(AXIS).array(params.ports),
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.submodules.ingress = ingress = SwitchIngress(params)
        m.submodules.jobs = jobs = JobTable(params)
        m.submodules.aggregator = aggregator = Aggregator(params)
        m.submodules.egress = egress = SwitchEgress(params)
        connect(m, flipped(self.s_axil), registers.axil)
        for k in range(params.ports):
            connect(m, flipped(self.s_axis[k]), ingress.axis[k])
            if not params.tenants:
                connect(m, egress.axis[k], flipped(self.m_axis[k]))
        settings = registers.control
        address = Cat(settings.switch_address_low, settings.switch_address_high)
        # A slot is read while its packet is checked.
        assert jobs.latency == aggregator.lead
        m.d.comb += [
            ingress.address.eq(address),
            ingress.hold.eq(jobs.hold),
            jobs.waiting.eq(ingress.waiting),
            jobs.packet_valid.eq(ingress.valid),
            jobs.sender.eq(ingress.sender),
            jobs.packet.eq(ingress.packet),
            aggregator.slot.eq(jobs.slot),
            aggregator.valid.eq(jobs.valid),
            aggregator.clear.eq(jobs.clear),
            aggregator.ahead.eq(jobs.ahead),
            aggregator.request.eq(jobs.request),
            egress.answered.eq(aggregator.answered),
            egress.answer.eq(aggregator.answer),
            egress.source.eq(address),
            egress.destination.eq(Cat(settings.group_address_low, settings.group_address_high)),
        ]
        if not params.tenants:
            self.command_jobs(m, registers, jobs)
        self.report(m, registers)
        verdict = self.count(m, registers, ingress, jobs, aggregator, egress)
        if params.tenants:
            m.submodules.control = control = ControlPlane(params)
            m.d.comb += [control.address.eq(address), jobs.progress.eq(aggregator.progress)]
            for k in range(params.ports):
                connect(m, egress.axis[k], control.packets[k])
                connect(m, control.axis[k], flipped(self.m_axis[k]))
            command_tenants(m, registers, ingress, control, jobs)
            report_tenants(m, registers, control, jobs)
            count_tenants(m, registers, control, jobs, aggregator, verdict)
        if params.parents:
            self.join_tree(m, registers, ingress, aggregator, egress)

    def command_jobs(self, m: Module, registers: RegisterBlock, jobs: JobTable) -> None:
        """Connect the host's commands, which start and stop jobs."""
        command_jobs(m, registers.control, jobs.command)
        report_jobs(m, registers.status, jobs)

    def report(self, m: Module, registers: RegisterBlock) -> None:
        """Report the sizes of the switch in registers."""
        status = registers.status
        m.d.comb += [status[name].eq(value) for name, value in constants(self.params).items()]

    def count(
        self,
        m: Module,
        registers: RegisterBlock,
        ingress: SwitchIngress,
        jobs: JobTable,
        aggregator: Aggregator,
        egress: SwitchEgress,
    ) -> Value:
        """Add all counters with their registers; return the verdict on the packet."""
        settings, status = registers.control, registers.status
        m.submodules.verdicts = verdicts = VerdictCounters.sized(
            verdict=self.params.verdict, sources=self.params.ports
        )
        m.submodules.port_counters = port_counters = PortCounters(self.params)
        m.submodules.totals = totals = TotalCounters.sized(saturated=LANES)
        # The verdict comes from the job table, if that refuses the packet, or from the aggregator.
        refused = delay(m, jobs.refused, aggregator.latency, "refused", reset_less=False)
        # A sum becomes complete once; repeated answers are not counted.
        complete = aggregator.answered & (aggregator.verdict == self.params.verdict.ADDED)
        clamped = count_ones(list(aggregator.answer.saturated))
        events = port_counters.events
        verdict = aggregator.verdict.as_value() | refused.as_value()
        exists = Signal()
        m.d.sync += exists.eq(settings.counter_port < self.params.ports)
        m.d.comb += [
            status.counter_exists.eq(exists),
            verdicts.verdict.eq(verdict),
            verdicts.source.eq(aggregator.sender),
            verdicts.number.eq(low_bits(settings.counter_port, self.params.port_bits)),
            verdicts.of.eq(settings.counter_verdict),
            events.overflows.eq(ingress.overflows),
            events.answers_sent.eq(egress.sent),
            events.answers_dropped.eq(egress.dropped),
            port_counters.port.eq(low_bits(settings.counter_port, self.params.port_bits)),
            totals.taken.eq(jobs.valid),
            totals.saturated.eq(Mux(complete, clamped, 0)),
            *(c.clear.eq(settings.clear_counters) for c in (verdicts, port_counters, totals)),
            status.clearing_counters.eq(verdicts.busy),
            status.counter_value.eq(Mux(exists, verdicts.value, 0)),
            *(status[n].eq(Mux(exists, port_counters.counts[n], 0)) for n in PORT_COUNTERS),
            status.packets.eq(totals.packets),
            status.cycles.eq(totals.cycles),
            status.saturations.eq(totals.saturations),
        ]
        return verdict

    def join_tree(
        self,
        m: Module,
        registers: RegisterBlock,
        ingress: SwitchIngress,
        aggregator: Aggregator,
        egress: SwitchEgress,
    ) -> None:
        """Connect the registers with the parents' address and this switch's place there."""
        settings = registers.control
        place = Signal(32)
        m.d.sync += place.eq(1 << settings.place_at_parents)
        m.d.comb += [
            ingress.place.eq(place),
            egress.place.eq(place),
            egress.above.eq(Cat(settings.parent_address_low, settings.parent_address_high)),
            egress.parent.eq(aggregator.parent),
        ]

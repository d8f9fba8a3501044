"""Implements SwitchGNN's endpoint, between a worker's memory and a port of the switch."""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.common.register_block import RegisterBlock
from hdl.switchgnn.endpoint.bundles import State
from hdl.switchgnn.endpoint.control import Control
from hdl.switchgnn.endpoint.counters import EndpointCounters
from hdl.switchgnn.endpoint.job_runner import JobRunner
from hdl.switchgnn.endpoint.memory_ports import BUSES, MemoryPorts
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.registers import constants, endpoint_registers


class Endpoint(Component):
    """Sends a worker's features, turn by turn, and writes received sums and copies to memory.

    It implements sections 3.3 and 3.4 of SwitchGNN, as corrected
    (:mod:`sim.switchgnn.golden.worker_rule`). A host lays out tables, features and room for sums in
    memory (:mod:`hdl.switchgnn.endpoint.memory_layouts`), sets the registers
    (:mod:`hdl.switchgnn.endpoint.registers`) and starts the job; when its state is FINISHED, every
    sum is in memory.

    ``m_axi_tables`` and ``m_axi_features`` are read, ``m_axi_sums`` is written. ``m_axis`` goes to
    the switch, ``s_axis`` comes from it and is never stalled. ``busy`` is high while a job runs or
    stops, for an interrupt.

    Throughput: a frame is sent, and received, in as many cycles as it has beats, unless window,
    memory, rate or link stalls it; counters tell which one does.
    """

    register_map = staticmethod(endpoint_registers)

    def __init__(self, params: EndpointParams) -> None:
        self.registers = endpoint_registers(params)
        super().__init__(
            params,
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
            m_axi_tables=Out(params.table_port.read_bus),
            m_axi_features=Out(params.payload_port.read_bus),
            m_axi_sums=Out(params.write_port.write_bus),
            m_axis=Out(AXIS),
            s_axis=In(AXIS),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.submodules.control = control = Control(params)
        m.submodules.memory = memory = MemoryPorts(params)
        m.submodules.counters = counters = EndpointCounters(params)
        m.domains.job = domain = ClockDomain(local=True)
        job = JobRunner(params)
        m.submodules.job = DomainRenamer("job")(job)
        m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(control.reset)]
        connect(m, flipped(self.s_axil), registers.axil)
        connect(m, job.m_axis, flipped(self.m_axis))
        connect(m, flipped(self.s_axis), job.s_axis)
        for name in ("table_bursts", "payload_bursts", "sum_bursts", "sum_beats"):
            connect(m, getattr(job, name), getattr(memory, name))
        for name in ("table_provided", "payload_provided", "sum_answered", "sum_answered_slot"):
            m.d.comb += getattr(job, name).eq(getattr(memory, name))
        for name in ("m_axi_tables", "m_axi_features", "m_axi_sums"):
            connect(m, getattr(memory, name), flipped(getattr(self, name)))
        provided, status = registers.control, registers.status
        m.d.comb += [
            *(status[name].eq(value) for name, value in constants(params).items()),
            control.start.eq(provided.start),
            control.stop.eq(provided.stop),
            control.finished.eq(job.finished),
            control.failures.eq(Cat(memory.failed, job.illegal_program, job.illegal_list)),
            control.quiet.eq(memory.quiet),
            control.inside.eq(job.inside),
            job.stop.eq(control.halt),
            memory.stop.eq(control.halt),
            memory.timeout.eq(provided.memory_timeout),
            memory.revive.eq(provided.revive_buses),
            counters.run.eq(control.run),
            self.busy.eq((control.state == State.RUNNING) | (control.state == State.STOPPING)),
            counters.events.eq(job.events),
            counters.clear.eq(provided.clear_counters),
            counters.select.eq(provided.counter),
            status.count.eq(counters.value),
            status.state.eq(control.state),
            status.cause.eq(control.cause),
            *(getattr(status, name).eq(getattr(job, name)) for name in ("lo", "sending", "rate")),
        ]
        for name in BUSES:
            for field in ("broken", "silent", "owes"):
                m.d.comb += status[f"{name}_{field}"].eq(memory.buses[name][field])
        self.settle(m, provided, job.settings)

    def settle(self, m: Module, provided, settings) -> None:
        """Connect the host's settings to the job."""
        program = Cat(provided.program_low, provided.program_high)
        same = (
            "worker",
            "job",
            "epoch",
            "turns",
            "ready_turns",
            "two_open",
            "send_timeout",
            "fetch_timeout",
            "fetch_gap",
            "done_timeout",
        )
        rate = settings.rate
        m.d.comb += [
            settings.address.eq(Cat(provided.own_address_low, provided.own_address_high)),
            settings.switch_address.eq(
                Cat(provided.switch_address_low, provided.switch_address_high)
            ),
            settings.program.eq(program[exact_log2(BEAT_BYTES) : self.params.address_bits]),
            *(settings[name].eq(provided[name]) for name in same),
            rate.enabled.eq(provided.rate_control),
            rate.burst.eq(provided.burst),
            rate.round_trip.eq(provided.round_trip),
            *(rate[name].eq(provided[f"rate_{name}"]) for name in ("most", "least", "step")),
        ]

"""Connects the switch of AllReduces of many numbers: ports, banks, jobs, registers, counters."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.allreduce.answer_exit import AnswerExit
from hdl.allreduce.answer_framer import AnswerFramer
from hdl.allreduce.bank_path import COUNTED, BankPath
from hdl.allreduce.counters import AllReduceCounters
from hdl.allreduce.multicast_turns import MulticastTurns
from hdl.allreduce.port_entry import PortEntry
from hdl.allreduce.registers import constants, switch_registers
from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.common.arithmetic import low_bits
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.crossbar import Crossbar
from hdl.common.packets import AXIS
from hdl.common.register_block import RegisterBlock
from hdl.switch.job_control import JobControl
from hdl.switch.job_registers import command_jobs, report_jobs
from hdl.switch.port_counters import PORT_COUNTERS


class AllReduceSwitch(Component):
    """Answers the partial activations of a job's workers with their sum, maximum or bit-or.

    Worker i of a job is at port i: its frames (:class:`hdl.allreduce.frame.WideFrame`) come on
    ``s_axis[i]``, and answers leave on ``m_axis[i]``. The host sets addresses, starts and stops
    jobs and reads counters through ``s_axil`` (:mod:`hdl.allreduce.registers`). Jobs have ports and
    slots of their own. Slot s is in bank s modulo ``params.banks``.

    Throughput: a beat of 64 bytes a cycle at each port, in and out, and in each bank; an answer
    leaves on all its ports at once. Latency: :attr:`latency` from the last beat of a frame, of any
    length, that completes a sum to the first beat of the answer, if nothing else waits. ``s_axis``
    is always ready: a port whose queue is full loses frames. A port that does not take its answers
    loses them when its queue is full, and blocks no other. Both are counted, and workers send
    again. With ``params.announces``, ``coming`` has a bit for each port to which an answer may come
    in the next cycle.
    """

    register_map = staticmethod(switch_registers)

    def __init__(self, params: AllReduceSwitchParams) -> None:
        self.registers = switch_registers(params)
        self.latency = (
            PortEntry(params).latency
            + Crossbar.latency
            + BankPath(params).latency
            + AnswerFramer.latency
            + AnswerExit.latency
        )
        self.latencies = {"last beat of a frame to the first beat of its answer": self.latency}
        super().__init__(
            params,
            s_axis=In(AXIS).array(params.ports),
            m_axis=Out(AXIS).array(params.ports),
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
            **({"coming": Out(params.ports)} if params.announces else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.submodules.crossbar = crossbar = Crossbar(params.crossbar)
        m.submodules.turns = turns = MulticastTurns(params)
        m.submodules.counters = counters = AllReduceCounters(params)
        m.submodules.jobs = jobs = JobControl(params)
        connect(m, flipped(self.s_axil), registers.axil)
        settings, status = registers.control, registers.status
        address = Cat(settings.switch_address_low, settings.switch_address_high)
        group = Cat(settings.group_address_low, settings.group_address_high)
        banks, cleared, end = [], [], Signal(17, reset_less=True)
        m.d.sync += end.eq((jobs.command.base + jobs.command.count)[:17])
        for k in range(params.banks):
            m.submodules[f"bank_{k}"] = bank = BankPath(params)
            connect(m, crossbar.o[k], bank.i)
            clearing = bank.clearing
            m.d.comb += [
                bank.number.eq(k),
                bank.source.eq(address),
                bank.destination.eq(group),
                bank.jobs.eq(jobs.table),
                clearing.valid.eq(jobs.preparing),
                clearing.ports.eq(jobs.command.ports[: params.ports]),
                clearing.base.eq(jobs.command.base),
                clearing.end.eq(end),
                turns.waiting[k].eq(bank.waiting),
                turns.free[k].eq(bank.free),
                turns.held[k].eq(bank.held),
                bank.take.eq(turns.take[k]),
                *(counters.banks[k][name].eq(getattr(bank, name)) for name in COUNTED),
            ]
            banks.append(bank)
            cleared.append(bank.cleared)
        self.add_ports(m, address, crossbar, banks, counters)
        command_jobs(m, settings, jobs.command)
        m.d.comb += [
            jobs.prepared.eq(Cat(cleared).all()),
            *(status[name].eq(value) for name, value in constants(params).items()),
        ]
        self.report(m, registers, jobs, counters)

    def add_ports(self, m: Module, address, crossbar, banks, counters) -> None:
        """Add what leads from the ports to the crossbar, and from the banks to the ports."""
        for k in range(self.params.ports):
            m.submodules[f"entry_{k}"] = entry = PortEntry(self.params)
            m.submodules[f"exit_{k}"] = leaves = AnswerExit(self.params)
            connect(m, flipped(self.s_axis[k]), entry.axis)
            connect(m, entry.o, crossbar.i[k])
            m.d.comb += crossbar.next[k].eq(entry.next)
            connect(m, leaves.axis, flipped(self.m_axis[k]))
            if self.params.announces:
                m.d.comb += self.coming[k].eq(leaves.coming)
            m.d.comb += [
                entry.address.eq(address),
                entry.number.eq(k),
                leaves.heading.eq(Cat(bank.heading[k] for bank in banks)),
                *(leaves.sending[n].eq(bank.sending) for n, bank in enumerate(banks)),
            ]
            for part, names in (
                (entry, ("judged", "quality", "lost")),
                (leaves, ("sent", "dropped")),
            ):
                m.d.comb += [counters.ports[k][name].eq(getattr(part, name)) for name in names]

    def report(self, m: Module, registers: RegisterBlock, jobs: Any, counters: Any) -> None:
        """Connect the state of jobs, and the counters, to the registers."""
        settings, status = registers.control, registers.status
        exists = settings.counter_port < self.params.ports
        report_jobs(m, status, jobs)
        m.d.sync += status.counter_exists.eq(exists)
        m.d.comb += [
            counters.clear.eq(settings.clear_counters),
            counters.number.eq(low_bits(settings.counter_port, self.params.port_bits)),
            counters.of.eq(settings.counter_verdict),
            status.clearing_counters.eq(counters.busy),
            status.counter_value.eq(Mux(exists, counters.value, 0)),
            *(status[n].eq(Mux(exists, counters.counts[n], 0)) for n in PORT_COUNTERS),
            *(status[n].eq(getattr(counters, n)) for n in ("packets", "cycles", "saturations")),
        ]

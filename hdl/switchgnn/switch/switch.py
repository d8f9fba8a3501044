"""Connects SwitchGNN's switch: ports, jobs and turns, banks of aggregators, registers, counters."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones, delay, low_bits
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.counter_bank import CounterBank
from hdl.common.counter_banks import CounterBanks
from hdl.common.expectations import expect
from hdl.common.packets import AXIS
from hdl.common.register_block import RegisterBlock
from hdl.switch.job_registers import report_jobs
from hdl.switch.job_table import JobTable
from hdl.switch.verdict_counters import VerdictCounters
from hdl.switchgnn.switch.aggregation import AGGREGATION_EVENTS, Aggregation
from hdl.switchgnn.switch.counters import TOTAL_COUNTERS, port_counters
from hdl.switchgnn.switch.egress.egress import GnnEgress
from hdl.switchgnn.switch.ingress.ingress import GnnIngress
from hdl.switchgnn.switch.jobs.job_preparation import JobPreparation
from hdl.switchgnn.switch.judge.judge import Judge
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.registers import ERRORS, constants, gnn_switch_registers
from hdl.switchgnn.switch.tables.table_registers import STATE_FIELDS
from hdl.switchgnn.switch.tables.table_writer import TableWriter
from hdl.switchgnn.switch.tasks.task_queue import TaskQueue
from hdl.switchgnn.switch.turns.turn_table import TurnTable


class GnnSwitch(Component):
    """Adds up features of vertices for the workers of its jobs (SwitchGNN, section 3, corrected).

    The worker at port i sends frames (:mod:`hdl.switchgnn.protocol`) on ``s_axis[i]`` and receives
    frames on ``m_axis[i]``, by the protocol of the corrected paper (:mod:`sim.switchgnn.golden`).
    The host writes tables, starts and stops jobs, and reads counters and errors through ``s_axil``
    (:mod:`hdl.switchgnn.switch.registers`). With ``params.in_memory``, the host writes lists and
    descriptors to memory, from where ``m_axi_tables`` read them (:class:`TableMemory`). Jobs have
    their own ports, turns and aggregators: no frame or list, however wrong, affects another job.

    With ``params.links``, the last ports lead to other switches, for two levels: a leaf has such a
    port to each spine, a spine has leaves at all its ports. A sum that leaves by such a port is
    a PARTIAL for the aggregator of the same number there (:class:`PartialSender`); a turn of a
    leaf ends when all spines have said so.

    Throughput: a row of lists a cycle, with P additions of L sums; one sum leaves in a cycle; ports
    are granted in round-robin order. ``s_axis`` is always ready: a port whose queue is full loses
    frames, and counts them; workers send them again. Sums wait in their aggregators until their
    port takes them, and a stalled port does not block the others. Latency, with lists on chip and
    nothing else under way: at most 32 cycles from the last beat of the frame that completes a sum
    to the sum's head, with frames of any length
    (:mod:`tests.hdl.switchgnn.switch.test_switch_timing`). With ``params.slr_stages``, S of them,
    it is 2 S - 1 cycles more (:class:`FarLanes`).
    """

    register_map = staticmethod(gnn_switch_registers)

    def __init__(self, params: GnnSwitchParams) -> None:
        self.registers = gnn_switch_registers(params)
        super().__init__(
            params,
            s_axis=In(AXIS).array(params.ports),
            m_axis=Out(AXIS).array(params.ports),
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
            **(
                {"m_axi_tables": Out(params.table_memory.axi).array(params.table_ports)}
                if params.in_memory
                else {}
            ),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.submodules.writer = writer = TableWriter(params)
        m.submodules.ingress = ingress = GnnIngress(params)
        m.submodules.jobs = jobs = JobTable(params)
        m.submodules.turns = turns = TurnTable(params)
        m.submodules.judge = judge = Judge(params)
        m.submodules.preparation = preparation = JobPreparation(params)
        m.submodules.queue = queue = TaskQueue(params)
        m.submodules.aggregation = aggregation = Aggregation(params)
        m.submodules.egress = egress = GnnEgress(params)
        connect(m, flipped(self.s_axil), registers.axil)
        for k in range(params.ports):
            connect(m, flipped(self.s_axis[k]), ingress.axis[k])
            connect(m, egress.axis[k], flipped(self.m_axis[k]))
        connect(m, ingress.payloads, aggregation.payloads)
        connect(m, preparation.fence, queue.fence)
        connect(m, turns.load, queue.load)
        connect(m, queue.tasks, aggregation.tasks)
        connect(m, queue.lists, aggregation.lists)
        if params.in_memory:
            for own, axi in zip(self.m_axi_tables, aggregation.m_axi_tables, strict=True):
                connect(m, axi, flipped(own))
        settings = registers.control
        self.connect_host(m, settings, writer, jobs, turns, aggregation)
        self.connect_jobs(m, jobs, turns, preparation, aggregation)
        self.connect_judge(m, ingress, jobs, turns, judge, queue)
        self.connect_output_path(m, settings, turns, judge, aggregation, egress)
        if params.links:
            self.connect_links(m, settings, turns, judge, egress)
        self.report(m, registers, jobs, aggregation)
        self.count(m, registers, ingress, turns, judge, aggregation, egress)
        m.d.comb += [
            ingress.address.eq(Cat(settings.switch_address_low, settings.switch_address_high)),
            ingress.mark_level.eq(settings.ingress_mark),
            egress.congested.eq(ingress.congested),
        ]

    def connect_host(
        self,
        m: Module,
        settings: Any,
        writer: TableWriter,
        jobs: JobTable,
        turns: TurnTable,
        aggregation: Aggregation,
    ) -> None:
        """Connect the host's commands and its writes to tables."""
        command, tables = jobs.command, turns.tables
        m.d.comb += [
            writer.table.eq(settings.table),
            writer.row.eq(settings.table_row),
            writer.begin.eq(settings.begin_table),
            writer.word.eq(settings.table_word),
            writer.push.eq(settings.write_word),
            turns.write.eq(writer.write_step),
            turns.write_step.eq(low_bits(writer.at, len(turns.write_step))),
            turns.written.eq(writer.step),
            *self.table_settings(settings, writer, aggregation),
            command.start.eq(settings.start_job),
            command.stop.eq(settings.stop_job),
            command.job.eq(settings.job_number),
            command.ports.eq(settings.job_ports),
            command.epoch.eq(settings.job_epoch),
            command.base.eq(settings.job_base),
            command.count.eq(settings.job_depth),
            tables.two.eq(settings.job_two),
            tables.last_step.eq(settings.job_last_step),
            tables.lists.base.eq(low_bits(settings.job_list_base, self.params.row_bits)),
            tables.lists.count.eq(low_bits(settings.job_list_rows, self.params.row_bits)),
            *(tables[name].eq(settings[f"job_{name}"]) for name in self.params.maximum),
            turns.started.eq(low_bits(settings.job_number, self.params.job_bits)),
            aggregation.error_job.eq(turns.started),
        ]

    def table_settings(self, settings: Any, writer: TableWriter, aggregation: Aggregation) -> list:
        """Connect the host's writes to tables on chip, or the settings of tables in memory."""
        if not self.params.in_memory:
            return [
                aggregation.write_list.eq(writer.write_list),
                aggregation.write_descriptors.eq(writer.write_descriptors),
                aggregation.at.eq(writer.at),
                aggregation.list_row.eq(writer.list_row),
                aggregation.descriptor_row.eq(writer.descriptor_row),
            ]
        reported, bits = aggregation.table_settings, self.params.table_memory.line_bits
        return [
            reported.bases.lists.eq(low_bits(settings.list_line, bits)),
            reported.bases.descriptors.eq(low_bits(settings.descriptor_line, bits)),
            reported.timeout.eq(settings.table_timeout),
            reported.revive.eq(settings.revive_tables),
            reported.clear.eq(settings.clear_counters),
        ]

    def connect_jobs(
        self,
        m: Module,
        jobs: JobTable,
        turns: TurnTable,
        preparation: JobPreparation,
        aggregation: Aggregation,
    ) -> None:
        """Connect the preparation of jobs, and their state to all parts."""
        m.d.comb += [
            preparation.preparing.eq(jobs.preparing),
            preparation.busy.eq(aggregation.busy),
            preparation.fenced.eq(aggregation.fenced),
            preparation.leaving.eq(aggregation.leaving),
            jobs.prepared.eq(preparation.prepared),
            turns.begin.eq(preparation.begin),
            turns.table.eq(jobs.table),
            aggregation.begin.eq(Mux(preparation.begin, 1 << turns.started, 0)),
            aggregation.ports.eq(turns.ports),
            aggregation.regions.eq(turns.regions),
        ]

    def connect_judge(
        self,
        m: Module,
        ingress: GnnIngress,
        jobs: JobTable,
        turns: TurnTable,
        judge: Judge,
        queue: TaskQueue,
    ) -> None:
        """Connect the path of frames from the ports to their jobs, the judge, and the tasks."""
        brings = ingress.valid & ingress.brings
        m.d.sync += ingress.hold.eq(queue.hold | turns.ends)
        under_way = ingress.valid
        for step in range(1, JobTable.latency + 1):
            under_way |= delay(m, ingress.valid, step, f"valid_{step}", reset_less=False)
        # If no frame is under way and none comes, none is under way in the next cycle.
        judging = under_way | judge.busy
        m.d.sync += turns.quiet.eq(~judging & ingress.hold)
        expect(m, self, is_quiet=lambda: ~(turns.quiet & judging))
        m.d.comb += [
            jobs.packet_valid.eq(ingress.valid),
            jobs.sender.eq(ingress.sender),
            jobs.packet.eq(ingress.packet),
            judge.valid.eq(jobs.valid),
            judge.refused.eq(jobs.refused),
            judge.request.eq(jobs.request),
            judge.brings.eq(delay(m, brings, JobTable.latency, "brings", reset_less=False)),
            judge.ahead.eq(jobs.ahead),
            turns.job.eq(jobs.ahead.job),
            turns.turn.eq(jobs.ahead.turn),
            judge.about.eq(turns.about),
            turns.done.eq(judge.done),
            turns.done_job.eq(judge.done_job),
            turns.sender.eq(judge.done_sender),
            judge.regions.eq(turns.regions),
            judge.port_jobs.eq(turns.ports),
            judge.clear.eq(turns.clear),
            queue.valid.eq(judge.task_valid),
            queue.task.eq(judge.task),
        ]

    def connect_output_path(
        self,
        m: Module,
        settings: Any,
        turns: TurnTable,
        judge: Judge,
        aggregation: Aggregation,
        egress: GnnEgress,
    ) -> None:
        """Connect the output path: sums, features and control frames."""
        m.d.comb += [
            judge.settings.every.eq(settings.ack_every),
            judge.settings.delay.eq(settings.ack_delay),
            egress.destination.eq(Cat(settings.group_address_low, settings.group_address_high)),
            egress.source.eq(Cat(settings.switch_address_low, settings.switch_address_high)),
            egress.mark_level.eq(settings.egress_mark),
            egress.jobs.eq(turns.ports),
            aggregation.open.eq(egress.open),
            aggregation.urgent.eq(egress.urgent),
            egress.claim.eq(aggregation.claim),
            egress.deliver.eq(aggregation.deliver),
            egress.delivery.eq(aggregation.delivery),
            egress.advance.eq(turns.advance | judge.over),
            egress.raw_request.eq(judge.raw_request),
            egress.raw_request_to.eq(judge.raw_request_to),
            judge.acked.eq(egress.acked),
            *(egress.acks[k].eq(judge.acks[k]) for k in range(self.params.ports)),
        ]

    def connect_links(
        self, m: Module, settings: Any, turns: TurnTable, judge: Judge, egress: GnnEgress
    ) -> None:
        """Connect the last ports' links to other switches."""
        m.d.comb += [
            judge.above.eq(settings.above),
            turns.above.eq(settings.above),
            turns.advanced.eq(judge.advanced),
            egress.above.eq(settings.above),
            egress.far_port.eq(settings.far_port),
            egress.link_timeout.eq(settings.link_timeout),
            egress.two.eq(Cat(region.two for region in turns.regions)),
            egress.clear.eq(turns.clear),
            egress.link_ack.eq(judge.link_ack),
            egress.link_ack_to.eq(judge.link_ack_to),
            egress.mark_to.eq(judge.mark_to),
        ]

    def report(
        self, m: Module, registers: RegisterBlock, jobs: JobTable, aggregation: Aggregation
    ) -> None:
        """Connect sizes, jobs and errors to the registers."""
        status = registers.status
        m.d.comb += [status[name].eq(value) for name, value in constants(self.params).items()]
        report_jobs(m, status, jobs)
        m.d.comb += [
            status.clearing_banks.eq(aggregation.busy),
            *(status[f"error_{name}"].eq(aggregation.errors[name]) for name in ERRORS),
            status.first_cause.eq(aggregation.first_error.cause),
            *(
                status[f"first_{name}"].eq(aggregation.first_error[name])
                for name in ("turn", "row", "aggregator")
            ),
        ]
        if self.params.in_memory:
            m.d.comb += [
                status[field].eq(aggregation.table_state[name])
                for field, name in STATE_FIELDS.items()
            ]

    def count(
        self,
        m: Module,
        registers: RegisterBlock,
        ingress: GnnIngress,
        turns: TurnTable,
        judge: Judge,
        aggregation: Aggregation,
        egress: GnnEgress,
    ) -> None:
        """Add all counters, with their registers."""
        settings, status, params = registers.control, registers.status, self.params
        m.submodules.verdicts = verdicts = VerdictCounters.sized(
            verdict=params.verdict, sources=params.ports
        )
        m.submodules.port_counters = of_ports = CounterBanks.sized(
            counters=port_counters(params), count=params.ports
        )
        m.submodules.totals = totals = CounterBank(TOTAL_COUNTERS)
        exists = Signal()
        m.d.sync += exists.eq(settings.counter_port < params.ports)
        for k in range(params.ports):
            events = of_ports.events[k]
            m.d.comb += [
                events.overflows.eq(ingress.overflows[k]),
                events.results.eq(egress.sent_results[k]),
                events.raws.eq(egress.sent_raws[k]),
                events.marks.eq(egress.marks[k]),
                events.raws_dropped.eq(aggregation.raws_dropped[k]),
                events.requests_dropped.eq(egress.requests_dropped[k]),
            ]
            if params.links:
                m.d.comb += [
                    events.partials.eq(egress.sent_partials[k]),
                    events.partials_again.eq(egress.partials_again[k]),
                    events.acks_unknown.eq(egress.acks_unknown[k]),
                ]
        m.d.comb += [
            verdicts.verdict.eq(judge.verdict),
            verdicts.source.eq(judge.sender),
            verdicts.number.eq(low_bits(settings.counter_port, params.port_bits)),
            verdicts.of.eq(params.verdict(settings.counter_verdict)),
            status.verdict_count.eq(Mux(exists, verdicts.value, 0)),
            status.clearing_counters.eq(verdicts.busy),
            of_ports.part.eq(settings.counter_port),
            of_ports.select.eq(settings.port_counter),
            status.port_count.eq(of_ports.value),
            *(totals.events[name].eq(aggregation.events[name]) for name in AGGREGATION_EVENTS),
            totals.events.turns.eq(count_ones(list(turns.ended))),
            totals.select.eq(settings.total_counter),
            status.total_count.eq(totals.value),
            *(c.clear.eq(settings.clear_counters) for c in (verdicts, of_ports, totals)),
        ]

"""Aggregates between the switch's ports: adds rows in banks, sends sums and features to ports."""

from amaranth.hdl import Cat, Module
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones, delay, low_bits
from hdl.common.component import Component
from hdl.switchgnn.switch.banks.aggregator_params import BankOperation, read_bit
from hdl.switchgnn.switch.banks.bank import Bank
from hdl.switchgnn.switch.banks.far_lanes import FarLanes
from hdl.switchgnn.switch.counters import TOTAL_COUNTERS
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.results.copy_queue import CopyQueue
from hdl.switchgnn.switch.results.read_schedule import ReadSchedule
from hdl.switchgnn.switch.results.result_path import ResultPath
from hdl.switchgnn.switch.tables.table_connections import add_tables, connect_tables, table_ports
from hdl.switchgnn.switch.tables.table_errors import TableErrors
from hdl.switchgnn.switch.tasks.task_sequencer import ROW_EVENTS, TaskSequencer

#: Lists the events of :data:`TOTAL_COUNTERS` that come from here.
AGGREGATION_EVENTS = {name: bits for name, bits in TOTAL_COUNTERS.counters if name != "turns"}


class Aggregation(Component):
    """Carries out ``tasks``, and sends sums and copies of features to the ports.

    Rows of ``lists`` and ``payloads`` are those of the tasks, in their order. A port that is
    ``open``, and not claimed in the same cycle, may be claimed in the next one: ``claim`` and,
    ``params.delivery_cycles`` later, ``deliver`` with ``delivery``, or nothing. ``leaving`` says
    that sums for ports without an active job leave, and are dropped. ``begin`` has the bit of a job
    whose table errors are cleared; ``errors`` and ``first_error`` are those of ``error_job``.

    Tables are on chip, where the host writes their rows, or in memory, which ``m_axi_tables`` read
    as ``table_settings`` say; ``table_state`` is the state of that memory (:class:`TableMemory`).
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        errors = TableErrors(params)
        super().__init__(
            params,
            tasks=In(stream.Signature(params.task)),
            lists=In(stream.Signature(params.rows_request)),
            payloads=In(stream.Signature(params.payload_words)),
            **table_ports(params),
            ports=In(data.ArrayLayout(params.port_job, params.ports)),
            regions=In(data.ArrayLayout(params.port_region, params.ports)),
            open=In(params.ports),
            urgent=In(params.ports),
            claim=Out(params.ports),
            deliver=Out(params.ports),
            delivery=Out(params.delivery),
            raws_dropped=Out(params.ports),
            busy=Out(1),
            fenced=Out(1),
            leaving=Out(1),
            begin=In(params.jobs),
            error_job=In(params.job_bits),
            errors=Out(errors.tally),
            first_error=Out(errors.result),
            events=Out(data.StructLayout(AGGREGATION_EVENTS)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        tables = add_tables(m, params)
        m.submodules.sequencer = sequencer = TaskSequencer(params)
        m.submodules.schedule = schedule = ReadSchedule(params.read_schedule)
        m.submodules.copies = copies = CopyQueue(params)
        m.submodules.path = path = ResultPath(params)
        m.submodules.errors = errors = TableErrors(params)
        connect(m, flipped(self.tasks), sequencer.tasks)
        connect(m, flipped(self.payloads), sequencer.payloads)
        connect_tables(m, tables, flipped(self.lists), sequencer, self)
        m.d.comb += self.fenced.eq(sequencer.fenced)
        banks = self.add_banks(m, sequencer, schedule)
        self.choose(m, sequencer, schedule, copies, banks)
        self.send(m, sequencer, schedule, copies, path, banks)
        self.collect_errors(m, sequencer, errors, banks)
        m.d.comb += [
            *(self.events[name].eq(sequencer.events[name]) for name in ROW_EVENTS.events.members),
            self.events.reads.eq(schedule.read.any()),
            self.events.additions.eq(count_ones([bank.added for bank in banks])),
        ]

    def add_banks(self, m: Module, sequencer: TaskSequencer, schedule: ReadSchedule) -> list[Bank]:
        """Add the banks, which get the commands of a row, or a READ in its holes."""
        params = self.params
        commands = delay(
            m, sequencer.commands, ReadSchedule.holes_ahead, "commands", reset_less=False
        )
        payload = sequencer.payload.as_value()
        banks = []
        for k in range(params.banks):
            m.submodules[f"bank_{k}"] = bank = Bank(params)
            m.d.comb += [
                bank.command.eq(commands[k]),
                # A row's command never has this bit, and it turns a hole, which is NONE, into a
                # READ.
                read_bit(bank.command.operation).eq(schedule.read[k]),
                bank.command.port.eq(schedule.port),
                bank.payload.as_value().eq(low_bits(payload, len(bank.payload.as_value()))),
            ]
            banks.append(bank)
        m.d.comb += self.busy.eq(Cat(bank.busy for bank in banks).any())
        return banks

    def choose(
        self,
        m: Module,
        sequencer: TaskSequencer,
        schedule: ReadSchedule,
        copies: CopyQueue,
        banks: list[Bank],
    ) -> None:
        """Choose the READs: for ports that are open, or ports without an active job."""
        active = Cat(port.active for port in self.ports)
        free = self.open & ~self.claim
        m.d.comb += [
            copies.active.eq(active),
            copies.open.eq(free),
            # Sums without an active job are dropped, at most in every other cycle.
            schedule.open.eq((free & active) | ~(schedule.claim | active)),
            schedule.urgent.eq(self.urgent),
            schedule.holes.eq(
                Cat(command.operation == BankOperation.NONE for command in sequencer.commands)
            ),
            *(schedule.ready[k].eq(bank.soon) for k, bank in enumerate(banks)),
            schedule.taken.eq(copies.taking),
            sequencer.still.eq(schedule.make_hole | self.busy),
        ]
        left = Cat((bank.soon & ~active).any() for bank in banks)
        m.d.sync += self.leaving.eq(left.any())

    def send(
        self,
        m: Module,
        sequencer: TaskSequencer,
        schedule: ReadSchedule,
        copies: CopyQueue,
        path: ResultPath,
        banks: list[Bank],
    ) -> None:
        """Send sums and copies to the ports that were claimed for them."""
        active = Cat(port.active for port in self.ports)
        claimed = schedule.claim & active
        m.d.comb += [
            sequencer.copy_room.eq(copies.room),
            copies.reserve.eq(sequencer.copy_reserve),
            copies.push.eq(sequencer.copy_push),
            copies.copy.eq(sequencer.copy),
            self.raws_dropped.eq(copies.dropped),
            self.claim.eq(claimed | copies.claim),
            path.read.eq(schedule.read),
            path.copies.eq(copies.deliver),
            path.copy.eq(copies.delivered),
            *(path.jobs[k].eq(job) for k, job in enumerate(self.ports)),
            *(path.regions[k].eq(region) for k, region in enumerate(self.regions)),
        ]
        for k, bank in enumerate(banks):
            m.d.comb += [path.valids[k].eq(bank.result_valid), path.results[k].eq(bank.result)]
        last = self.add_far_lanes(m, sequencer, path, banks) if self.params.slr_stages else path
        m.d.comb += [self.deliver.eq(last.deliver), self.delivery.eq(last.delivery)]

    def add_far_lanes(
        self, m: Module, sequencer: TaskSequencer, path: ResultPath, banks: list[Bank]
    ) -> FarLanes:
        """Add the upper lanes of the banks, which complete deliveries of the lower ones."""
        m.submodules.far = far = FarLanes(self.params)
        payload = far.payload.as_value()
        m.d.comb += [
            payload.eq(sequencer.payload.as_value()[len(payload) :]),
            far.read.eq(path.read),
            far.lower.eq(path.deliver),
            far.half.eq(path.delivery),
            *(far.commands[k].eq(bank.far) for k, bank in enumerate(banks)),
        ]
        return far

    def collect_errors(
        self, m: Module, sequencer: TaskSequencer, errors: TableErrors, banks: list[Bank]
    ) -> None:
        """Count the errors in the lists of jobs."""
        m.d.comb += [
            errors.issued.eq(sequencer.issued),
            errors.missing.eq(sequencer.missing),
            errors.outside.eq(sequencer.outside),
            *(errors.errors[k].eq(bank.error) for k, bank in enumerate(banks)),
            errors.begin.eq(self.begin),
            errors.job.eq(self.error_job),
            self.errors.eq(errors.counts),
            self.first_error.eq(errors.first),
        ]

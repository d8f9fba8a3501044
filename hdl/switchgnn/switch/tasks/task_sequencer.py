"""Turns tasks into commands of the banks: a row a cycle, in the order of the tasks."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.arithmetic import delay, low_bits
from hdl.common.component import Component
from hdl.common.event_counters import CountersParams
from hdl.common.expectations import expect
from hdl.switchgnn.protocol import FEATURE_BITS
from hdl.switchgnn.switch.banks.aggregator_params import BankOperation
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import COUNT_BITS, INDEX_BITS, TAG_BITS
from hdl.switchgnn.switch.tasks.task_params import TaskKind

#: Cycles from a task's row to its payload: the delay of the commands, and the banks' lead.
PAYLOAD_LAG = 6

#: Describes how many rows were begun in a cycle, and why none was.
ROW_EVENTS = CountersParams(
    name="rows",
    counters=tuple(
        (name, 1)
        for name in ("rows", "waits_for_task", "waits_for_list", "waits_for_copy", "loads", "holes")
    ),
)


class TaskSequencer(Component):
    """Begins a row of ``commands`` a cycle, for the first of ``tasks``.

    A FEATURE has the rows of its list, which come from ``rows``; a PARTIAL and a FETCH have one
    aggregator, number index x banks + bank; a load has a row for each index of the region. Its
    descriptors come from ``descriptors``, requested by ``descriptor_requests`` or, if tables are in
    memory, by the task's own request (:class:`TaskQueue`). With ``still`` no row begins a cycle
    later. ``fenced`` pulses when a FENCE is carried out.

    ``commands`` are registers. The payload of a row, as sums, is in ``payload`` :data:`PAYLOAD_LAG`
    cycles after its commands, taken from ``payloads`` in the order of the tasks that brought one.
    With the last row of a FEATURE for other ports, and for a RAW, ``copy_reserve`` reserves a place
    for a ``copy``, for which ``copy_room`` must be high; the copy comes with ``copy_push`` when the
    payload does.

    ``issued`` has the origin of the commands, if they are additions. ``missing`` says that the job
    has no such row, ``outside`` that a number is beyond the aggregators of a bank.

    Throughput: a row a cycle, also from task to task. Latency: :attr:`latency` from a task to its
    first commands.
    """

    latency = 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            tasks=In(stream.Signature(params.task)),
            rows=In(stream.Signature(params.list_table.result)),
            **(
                {}
                if params.in_memory
                else {"descriptor_requests": Out(stream.Signature(params.descriptor_table.request))}
            ),
            descriptors=In(stream.Signature(params.descriptor_table.result)),
            payloads=In(stream.Signature(params.payload_words)),
            still=In(1),
            commands=Out(data.ArrayLayout(params.bank_command, params.banks)),
            issued=Out(params.issued),
            missing=Out(1),
            outside=Out(1),
            fenced=Out(1),
            payload=Out(params.sums),
            copy_room=In(1),
            copy_reserve=Out(1),
            copy_push=Out(1),
            copy=Out(params.copy),
            events=Out(ROW_EVENTS.events),
        )

    def build(self, m: Module) -> None:
        task, kind = self.tasks.payload, self.tasks.payload.kind
        row = self.rows.payload
        loaded = self.descriptors.payload
        has_rows = (kind == TaskKind.ROWS) & task.rows.any()
        is_load = kind == TaskKind.LOAD
        copies = (kind == TaskKind.ROWS) & task.raw.any()
        present = Signal()  # all inputs of the row are there
        last = Signal()  # the row is the task's last
        go = Signal()
        m.d.comb += [
            last.eq(Mux(has_rows, row.last, Mux(is_load, loaded.last, 1))),
            present.eq(
                Mux(has_rows, self.rows.valid, Mux(is_load, self.descriptors.valid, 1))
                & (~(copies & last) | self.copy_room)
            ),
            go.eq(self.tasks.valid & present & ~self.still),
            self.tasks.ready.eq(go & last),
            self.rows.ready.eq(go & has_rows),
            self.descriptors.ready.eq(go & is_load),
            self.copy_reserve.eq(go & copies & last),
        ]
        m.d.sync += self.fenced.eq(go & (kind == TaskKind.FENCE))
        if not self.params.in_memory:
            self.request_for_descriptors(m, go & last, is_load)
        self.begin(m, go, has_rows)
        self.bring(m, go & last & task.brings, self.copy_reserve)
        m.d.comb += [
            self.events.rows.eq(go & (has_rows | (kind == TaskKind.ONE))),
            self.events.waits_for_task.eq(~self.tasks.valid),
            self.events.waits_for_list.eq(self.tasks.valid & has_rows & ~self.rows.valid),
            self.events.waits_for_copy.eq(
                self.tasks.valid & copies & last & ~self.copy_room & (self.rows.valid | ~has_rows)
            ),
            self.events.loads.eq(self.tasks.valid & is_load),
            self.events.holes.eq(self.tasks.valid & present & self.still),
        ]

    def request_for_descriptors(self, m: Module, ends, is_load) -> None:
        """Request the descriptors of a load once; indices beyond the block's get none."""
        task, request = self.tasks.payload, self.descriptor_requests.payload
        requested = Signal()
        m.d.comb += [
            self.descriptor_requests.valid.eq(self.tasks.valid & is_load & ~requested),
            request.first.eq(low_bits(task.first, len(request.first))),
            request.count.eq(task.rows),
            request.present.eq(task.present),
        ]
        with m.If(ends):
            m.d.sync += requested.eq(0)
        with m.Elif(self.descriptor_requests.valid & self.descriptor_requests.ready):
            m.d.sync += requested.eq(1)

    def begin(self, m: Module, go, has_rows) -> None:
        """Register the commands of a row."""
        params, task = self.params, self.tasks.payload
        bank_bits = exact_log2(params.banks)
        result = params.row(self.rows.payload.row)
        descriptors = params.descriptor_row(self.descriptors.payload.row)
        commands = Signal(data.ArrayLayout(params.bank_command, params.banks))
        index = Signal(COUNT_BITS)  # number of the row that is loaded, or of the list's row
        number = task.list >> bank_bits  # number of an aggregator in its bank
        is_one = (task.kind == TaskKind.ONE) | (task.kind == TaskKind.FETCH)
        beyond = number >= 1 << INDEX_BITS
        with m.If(go):
            m.d.sync += index.eq(Mux(self.tasks.ready, 0, index + 1))
        for k in range(params.banks):
            operation = Signal(BankOperation, name=f"operation_{k}")
            command = commands[k]
            named = task.list[:bank_bits] == k if bank_bits else 1
            with m.Switch(task.kind):
                with m.Case(TaskKind.ROWS):
                    m.d.sync += command.index.eq(result[k].index)
                    with m.If(has_rows & result[k].valid & ~self.rows.payload.missing):
                        m.d.comb += operation.eq(BankOperation.ADD)
                with m.Case(TaskKind.LOAD):
                    m.d.comb += operation.eq(BankOperation.LOAD)
                    m.d.sync += command.index.eq(low_bits(index, INDEX_BITS))
                with m.Default():
                    m.d.sync += command.index.eq(low_bits(number, INDEX_BITS))
                    with m.If(is_one & named & ~beyond):
                        m.d.comb += operation.eq(
                            Mux(task.kind == TaskKind.ONE, BankOperation.ADD, BankOperation.FETCH)
                        )
            expected = Mux(self.descriptors.payload.missing, 0, descriptors[k].expected)
            m.d.sync += [
                command.operation.eq(Mux(go, operation, BankOperation.NONE)),
                command.region.eq(task.region),
                command.tag.eq(task.turn[:TAG_BITS]),
                command.port.eq(0),
                command.descriptor.expected.eq(expected),
                command.descriptor.port.eq(descriptors[k].port),
            ]
        m.d.comb += self.commands.eq(commands)
        m.d.sync += [
            self.missing.eq(go & has_rows & self.rows.payload.missing),
            self.outside.eq(go & (task.kind == TaskKind.ONE) & beyond),
            self.issued.job.eq(task.job),
            self.issued.turn.eq(task.turn),
            self.issued.number.eq(task.list),
            self.issued.row.eq(Mux(has_rows, (task.list + index)[:32], 0)),
        ]
        m.d.comb += [self.issued.indices[k].eq(commands[k].index) for k in range(params.banks)]

    def bring(self, m: Module, takes, copies) -> None:
        """Take the payload of a task when the banks need it; a feature is widened to sums."""
        params, task = self.params, self.tasks.payload
        words = self.payloads.payload
        features = params.features(params.features_of(words))
        sums = params.sums(Cat(*words)[: params.sums.size])
        # These have a reset, so that they are no LUT shift register: the last one has a load in
        # every lane.
        wide = delay(m, task.kind == TaskKind.ONE, PAYLOAD_LAG, "wide", reset_less=False)
        payload = Signal(params.sums, reset_less=True)
        m.d.comb += [
            self.payloads.ready.eq(delay(m, takes, PAYLOAD_LAG, "takes", reset_less=False)),
            self.payload.eq(payload),
        ]
        for k in range(params.lanes):
            m.d.sync += payload[k].eq(Mux(wide, sums[k], features[k]))
        fields = {name: params.copy[name].shape for name in ("ports", "job", "turn", "source")}
        head = Signal(data.StructLayout(fields), name="copied")
        m.d.comb += [
            head.ports.eq(task.raw),
            head.job.eq(task.job),
            head.turn.eq(task.turn),
            head.source.eq(task.source),
        ]
        late = PAYLOAD_LAG + 1
        reported: Any = delay(m, head, late, "copied")
        m.d.comb += [
            self.copy_push.eq(delay(m, copies, late, "copies", reset_less=False)),
            self.copy.ports.eq(reported.ports),
            self.copy.job.eq(reported.job),
            self.copy.turn.eq(reported.turn),
            self.copy.source.eq(reported.source),
            *(self.copy.features[k].eq(payload[k][:FEATURE_BITS]) for k in range(params.lanes)),
        ]
        expect(m, self, payloads_are_there=lambda: ~self.payloads.ready | self.payloads.valid)

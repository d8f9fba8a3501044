"""Turns tasks, through their queue and the tables that they ask, into rows of commands in order."""

import random
from collections import deque
from dataclasses import replace
from types import SimpleNamespace

import cocotb
import pytest
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.component import Component
from hdl.switchgnn.switch.banks.aggregator_params import BankOperation
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import MEMORY
from hdl.switchgnn.switch.tables.table_connections import add_tables, connect_tables, table_ports
from hdl.switchgnn.switch.tasks.task_params import TaskKind
from hdl.switchgnn.switch.tasks.task_queue import TaskQueue
from hdl.switchgnn.switch.tasks.task_sequencer import PAYLOAD_LAG, TaskSequencer
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Source, crossed, never, often, rarely, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.switchgnn.switch_on_rams import arguments_of, sources_of
from sim.switchgnn.table_rams import TableRams, add_rams, ram_members
from tests.hdl.switchgnn.switch.ingress.arrivals import payload_beats
from tests.hdl.switchgnn.switch.sizes import TINY

SIZES = [
    replace(TINY, rows=64, descriptor_rows=32),
    replace(TINY, banks=4, lanes=32, slots=64, rows=64, descriptor_rows=64, tasks=128),
    replace(
        TINY,
        tables=MEMORY,
        rows=64,
        descriptor_rows=32,
        tasks=128,
        table_ports=2,
        table_address_bits=8,
    ),
]
UNDER_WAY = 5  # cycles from a frame at the ports to its task
SHOWN = ("commands", "issued", "missing", "outside", "fenced", "payload")
COPIES = ("copy_reserve", "copy_push", "copy")


class Rows(Component):
    """Connects the queue, both tables and the sequencer, as the switch does."""

    def __init__(self, params=None):
        sequencer = TaskSequencer(params).signature.members
        tables = table_ports(params)
        if params.in_memory:
            del tables["m_axi_tables"]
            tables |= ram_members(params.table_memory)
        super().__init__(
            params,
            valid=In(1),
            task=In(params.task),
            fence=In(stream.Signature(params.task)),
            load=In(stream.Signature(params.task)),
            payloads=In(stream.Signature(params.payload_words)),
            **tables,
            hold=Out(1),
            still=In(1),
            copy_room=In(1),
            **{name: Out(sequencer[name].shape) for name in (*SHOWN, *COPIES)},
        )

    def build(self, m):
        m.submodules.queue = queue = TaskQueue(self.params)
        tables = add_tables(m, self.params)
        m.submodules.sequencer = sequencer = TaskSequencer(self.params)
        connect(m, flipped(self.fence), queue.fence)
        connect(m, flipped(self.load), queue.load)
        connect(m, flipped(self.payloads), sequencer.payloads)
        connect(m, queue.tasks, sequencer.tasks)
        outer = self
        if self.params.in_memory:
            memory = self.params.table_memory
            axes = [memory.axi.create(path=(f"axi_{k}",)) for k in range(memory.ports)]
            outer = SimpleNamespace(
                m_axi_tables=axes,
                table_settings=self.table_settings,
                table_state=self.table_state,
            )
            add_rams(m, memory, self, axes)
        connect_tables(m, tables, queue.lists, sequencer, outer)
        m.d.comb += [
            queue.valid.eq(self.valid),
            queue.task.eq(self.task),
            self.hold.eq(queue.hold),
            sequencer.still.eq(self.still),
            sequencer.copy_room.eq(self.copy_room),
            *(getattr(self, name).eq(getattr(sequencer, name)) for name in (*SHOWN, *COPIES)),
        ]


@pytest.mark.parametrize("params", SIZES, ids=lambda p: f"{p.banks}x{p.lanes} {p.tables}")
def test_task_sequencer(params, tmp_path):
    simulate(Rows(params), __name__, plusargs=arguments_of(params, tmp_path), **sources_of(params))


class Bench:
    """Gives tasks, and watches what is done for them."""

    def __init__(self, dut, *, still=never, room=never):
        self.dut, self.edge, self.still, self.room = dut, RisingEdge(dut.clk), still, room
        self.params = params = params_in_simulator(GnnSwitchParams)
        self.rams = TableRams(dut, params.table_memory) if params.in_memory else None
        writes = () if params.in_memory else ("write_list", "write_descriptors")
        for name in ("valid", "still", "copy_room", *writes):
            getattr(dut, name).value = 0
        self.payloads = Source(dut, "payloads")
        self.fences, self.loads = Source(dut, "fence"), Source(dut, "load")
        self.pending_loads = deque()
        some = [random.getrandbits(params.row.size) for _ in range(params.rows)]
        self.rows = [unpack(params.row, bits) for bits in some]
        self.descriptors = [
            unpack(params.descriptor_row, random.getrandbits(params.descriptor_row.size))
            for _ in range(params.descriptor_rows)
        ]
        self.coming = deque([None] * UNDER_WAY)
        self.expected = deque()  # rows of commands that will be seen
        self.due = {}  # by cycle: the payload that is wanted, and a copy
        self.now, self.held = 0, False
        self.seen, self.fenced, self.missing, self.outside = [], 0, 0, 0
        self.reserved, self.errors = 0, [0, 0]
        self.layout = data.ArrayLayout(params.bank_command, params.banks)
        self.provided = deque()  # tasks in the order in which the queue has them

    async def start(self):
        dut, params = self.dut, self.params
        await start(dut)
        if self.rams is not None:
            await self.fill_memory(self.rams)
            return self
        for name, table, row, shape in (
            ("write_list", self.rows, "list_row", params.row),
            ("write_descriptors", self.descriptors, "descriptor_row", params.descriptor_row),
        ):
            getattr(dut, name).value = 1
            for at, value in enumerate(table):
                dut.at.value = at
                getattr(dut, row).value = pack(shape, value)
                await self.edge
            getattr(dut, name).value = 0
        return self

    async def fill_memory(self, rams):
        """Write both tables to memory, the descriptors half-way."""
        memory, half = self.params.table_memory, rams.lines // 2
        bases = {"lists": 0, "descriptors": half}
        # What was asked before the reset comes all the same, and breaks its port.
        self.dut.table_settings.value = pack(memory.settings, {"bases": bases, "revive": 1})
        await ClockCycles(self.dut.clk, 100)
        self.dut.table_settings.value = pack(memory.settings, {"bases": bases})
        lists = [pack(self.params.row, row) for row in self.rows]
        await rams.write(0, 0, lists, memory.list_bits)
        descriptors = [
            sum((item["expected"] | item["port"] << 16) << 32 * k for k, item in enumerate(row))
            for row in self.descriptors
        ]
        await rams.write(half, 0, descriptors, memory.descriptor_bits)

    def place(self, rows, count):
        """Return where this many rows begin; on chip, those past the end wrap around."""
        return random.randrange(rows - count * self.params.in_memory)

    def some_task(self, max_rows):
        """Draw a task as the judge gives it, with its payload."""
        params = self.params
        kinds = (TaskKind.DROP, TaskKind.ROWS, TaskKind.ROWS, TaskKind.ONE, TaskKind.FETCH)
        kind = random.choice(kinds)
        rows = random.randrange(max_rows + 1) if kind is TaskKind.ROWS else 0
        first = self.place(params.rows, rows)
        number = random.choice((random.randrange(2 * params.slots), random.getrandbits(32)))
        base = random.randrange(params.slots)
        return {
            "kind": kind,
            "brings": int(kind is not TaskKind.FETCH),
            "job": random.randrange(params.jobs),
            "turn": random.getrandbits(32),
            "region": {"base": base, "count": random.randrange(params.slots)},
            "list": number if kind in (TaskKind.ONE, TaskKind.FETCH) else random.getrandbits(32),
            "rows": rows,
            "first": first,
            "present": random.choice((rows, rows, random.randrange(rows + 1), 0xFFFF)),
            "source": random.getrandbits(32),
            "raw": random.getrandbits(params.ports) if kind is TaskKind.ROWS else 0,
        }

    def some_load(self):
        height = random.randint(1, 8)
        return self.some_task(0) | {
            "kind": TaskKind.LOAD,
            "brings": 0,
            "raw": 0,
            "first": self.place(self.params.descriptor_rows, height),
            "rows": height,
            "present": random.randrange(height + 1),
        }

    def give(self, task):
        """Note what a task in the queue becomes."""
        params, payload = self.params, None
        if task["brings"]:
            payload = [random.getrandbits(512) for _ in range(params.payload_beats)]
            self.payloads.append(payload)
        operations = list(self.rows_of(task))
        for k, row in enumerate(operations):
            copy = task["raw"] and k == len(operations) - 1
            adds = any(command["operation"] is BankOperation.ADD for command in row)
            if copy or any(command["operation"] is not BankOperation.NONE for command in row):
                self.expected.append((task, row, payload if adds or copy else None, copy, k))
        return task

    def rows_of(self, task):
        """Return the operations of each row of a task."""
        params, kind = self.params, task["kind"]
        nothing = {"operation": BankOperation.NONE}
        if kind is TaskKind.ROWS and task["rows"]:
            for k in range(task["rows"]):
                row = self.rows[(task["first"] + k) % params.rows]
                present = k < task["present"]
                self.errors[0] += not present
                yield [
                    {"operation": BankOperation.ADD, "index": entry["index"]}
                    if present and entry["valid"]
                    else nothing
                    for entry in row
                ]
        elif kind is TaskKind.LOAD:
            for k in range(task["rows"]):
                row = self.descriptors[(task["first"] + k) % params.descriptor_rows]
                load = {"operation": BankOperation.LOAD, "index": k}
                if k < task["present"]:
                    yield [load | {"descriptor": provided} for provided in row]
                else:
                    yield [load | {"descriptor": {"expected": 0}}] * params.banks
        else:
            index, bank = divmod(task["list"], params.banks)
            row = [nothing] * params.banks
            if kind in (TaskKind.ONE, TaskKind.FETCH):
                operation = BankOperation.ADD if kind is TaskKind.ONE else BankOperation.FETCH
                if index < 1 << 15:
                    row[bank] = {"operation": operation, "index": index}
                else:
                    self.errors[1] += kind is TaskKind.ONE
            yield row

    async def step(self, task=None):
        """Play a cycle: take a frame that becomes ``task`` unless the queue holds; return whether
        so.
        """
        dut = self.dut
        taken = task is not None and not self.held
        self.coming.append(task if taken else None)
        comes = self.coming.popleft()
        dut.valid.value = int(comes is not None)
        if comes is not None:
            dut.task.value = pack(self.params.task, comes)
        dut.still.value, dut.copy_room.value = int(self.still()), int(not self.room())
        fence, load = self.waiting(self.fences), self.waiting(self.loads)
        await self.edge
        if comes is not None:
            self.give(comes)
        if fence and dut.fence_ready.value and dut.fence_valid.value:
            self.provided.append("fence")
        if load and dut.load_ready.value and dut.load_valid.value:
            self.give(self.pending_loads.popleft())
        self.held = bool(dut.hold.value)
        self.look()
        self.now += 1
        return taken

    def waiting(self, source):
        return bool(source.missing)

    def look(self):
        """Check what the banks are told, and the payload that belongs to it."""
        dut, params = self.dut, self.params
        bits = int(dut.commands.value)
        commands = unpack(self.layout, bits)
        self.fenced += int(dut.fenced.value)
        self.missing += int(dut.missing.value)
        self.outside += int(dut.outside.value)
        reserved = bool(dut.copy_reserve.value)
        operates = any(command["operation"] is not BankOperation.NONE for command in commands)
        if operates or self.reserved:
            task, row, payload, copy, number = self.expected.popleft()
            assert bool(copy) == bool(self.reserved)
            for command, golden in zip(commands, row, strict=True):
                assert command["operation"] is golden["operation"]
                if golden["operation"] is BankOperation.NONE:
                    continue
                golden = {"region": task["region"], "tag": task["turn"] & 255} | golden
                descriptor = golden.get("descriptor", {})
                loaded = {name: command["descriptor"][name] for name in descriptor}
                assert {name: command[name] for name in golden} | {"descriptor": loaded} == (
                    golden | {"descriptor": descriptor}
                )
            issued = unpack(params.issued, int(dut.issued.value))
            assert (issued["job"], issued["turn"]) == (task["job"], task["turn"])
            if task["kind"] is TaskKind.ROWS and task["rows"]:
                assert issued["row"] == (task["list"] + number) % (1 << 32)
            self.seen.append(self.now)
            if payload is not None:
                self.due[self.now + PAYLOAD_LAG] = task, self.sums(task, payload), copy
        self.reserved = reserved
        due = self.due.pop(self.now, None)
        assert bool(dut.copy_push.value) == bool(due and due[2])
        if due:
            task, sums, copy = due
            assert unpack(params.sums, int(dut.payload.value)) == sums
            if copy:
                result = unpack(params.copy, int(dut.copy.value))
                golden = {name: task[name] for name in ("job", "turn", "source")}
                assert result == golden | {"ports": task["raw"], "features": sums}

    def sums(self, task, payload):
        """Return the lanes of a payload."""
        params = self.params
        shape = params.sums if task["kind"] is TaskKind.ONE else params.features
        beats = payload_beats(payload, -(-shape.size // 512))
        bits = sum(word << 512 * k for k, word in enumerate(beats))
        return unpack(shape, bits & (1 << shape.size) - 1)

    async def finish(self):
        self.still = self.room = never
        quiet = 0
        while quiet < 80:
            before = len(self.expected), len(self.due)
            await self.step()
            quiet = quiet + 1 if before == (len(self.expected), len(self.due)) else 0
        assert not self.expected
        assert not self.due
        assert not self.payloads.missing
        assert [self.missing, self.outside] == self.errors


@crossed(still=[never, rarely, often], room=[never, often])
async def any_tasks(dut, still, room):
    """Rows come in order; fences and loads find their gaps."""
    bench = await Bench(dut, still=still, room=room).start()
    fences = 0
    for k in range(600):
        if k % 50 == 7:
            bench.pending_loads.append(bench.some_load())
            bench.loads.append(bench.pending_loads[-1])
        if k % 50 == 30:
            bench.fences.append({"kind": TaskKind.FENCE})
            fences += 1
        await bench.step(bench.some_task(4) if random.random() < 0.7 else None)
    await bench.finish()
    assert bench.fenced == fences
    assert bench.missing > 0
    assert bench.outside > 0
    assert len(bench.seen) > 100


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_row_a_cycle(dut):
    """A row comes per cycle after the first, for tasks of several rows and of one."""
    for rows in (1, 4):
        bench = await Bench(dut).start()
        task = bench.some_task(0) | {
            "kind": TaskKind.ROWS,
            "brings": 1,
            "rows": rows,
            "present": rows,
        }
        for row in bench.rows:
            row[0]["valid"] = 1
        await bench.start()
        provided = 0
        while provided < 60:
            provided += await bench.step(task | {"raw": 0, "first": random.randrange(16)})
        await bench.finish()
        first = bench.seen[0]
        assert bench.seen == [first + k for k in range(60 * rows)]

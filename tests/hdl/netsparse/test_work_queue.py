import random
from itertools import product

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.params import SnicParams
from hdl.netsparse.queue.params import NO_UNIT, Verdict
from hdl.netsparse.rig.params import Cause
from hdl.netsparse.work_queue import COMPLETIONS, WorkQueue
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Source, benched, crossed, cycle, often, start, started
from sim.harness.verilator import params_in_simulator
from sim.netsparse.golden.gather import refused
from tests.hdl.netsparse.rig.bench import THREE_UNITS
from tests.simulated import simulated

CLIENTS = 0b101  # unit 1 is a server
OTHERS = 0b010  # or the two others are

test_work_queue = simulated(WorkQueue, [THREE_UNITS], __name__)


class Host(Bench):
    def __init__(self, dut, clients=CLIENTS):
        super().__init__(dut, clients=clients)
        self.clients = [k for k in range(3) if clients >> k & 1]

    def request(self, **changes):
        most = self.params.rig.most_property_bytes
        return {
            "tag": random.getrandbits(16),
            "idx_address": 8 * random.getrandbits(29),
            "count": random.getrandbits(32),
            "wide": random.getrandbits(1),
            "property_address": 4 * random.getrandbits(30),
            "property_bytes": 4 * random.randint(1, most // 4),
            "watchdog": random.getrandbits(32),
        } | changes

    async def submit(self, unit, request):
        """Submit a request; return whether it was taken."""
        self.set(unit=unit, request=request)
        await self.strobe(submit=1)
        await self.wait(2)
        return not self.dut.refused.value

    async def read_completion(self):
        while not self.dut.completion_valid.value:
            await self.wait()
        completion = self.value("completion")
        await self.strobe(next=1)
        await self.wait()
        return completion


@crossed(clients=[CLIENTS, OTHERS], us=100)
async def gives_requests_to_clients(dut, clients):
    host = await Host(dut, clients).begin()
    expected = {0: [], 1: [], 2: []}
    for _ in range(150):
        unit = random.choice((0, 0, 1, 2, 2, 3, 31))
        request = host.request()
        taken = await host.submit(unit, request)
        assert taken == (unit in host.clients)
        if taken:
            expected[unit].append(request | {"cause": Cause.DONE})
    for _ in range(20):  # one after another: registers are written every other cycle at most
        unit, request = random.choice(host.clients), host.request()
        host.set(unit=unit, request=request)
        expected[unit].append(request | {"cause": Cause.DONE})
        for submit in (1, 0):
            dut.submit.value = submit
            await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, 2)
    assert {k: sink.beats for k, sink in enumerate(host.commands)} == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def refuses_what_a_unit_has_no_room_for(dut):
    host = Host(dut)
    for k in range(3):
        getattr(dut, f"commands_{k}_ready").value = 0
    await start(dut)
    assert not dut.refused.value
    for _ in range(5):
        assert not await host.submit(0, host.request())
    await ClockCycles(dut.clk, 10)
    assert dut.refused.value, "it stays until the next"
    assert not dut.commands_0_valid.value
    dut.commands_0_ready.value = 1
    assert await host.submit(0, host.request())
    assert not await host.submit(2, host.request())
    dut.commands_2_ready.value = 1
    assert await host.submit(2, host.request())


class Judged(Host):
    """A host that hears what each of its requests is given as; all of them go to unit 0."""

    async def cause(self, *, clear=None, **changes):
        """Return the cause of a request; the filter is cleared ``clear`` cycles later, if at all.

        A request is judged in the cycle after its submission.
        """
        request = self.request(**changes)
        assert await self.submit_once(request, clear)
        provided = self.commands_0.beats[-1]
        assert provided["tag"] == request["tag"]
        return provided["cause"]

    async def submit_once(self, request, clear):
        dut = self.dut
        self.set(unit=0, request=request)
        for since in range(4):
            dut.submit.value, dut.clear_filter.value = since == 0, since == clear
            await RisingEdge(dut.clk)
        return not dut.refused.value

    async def clear(self):
        await self.strobe(clear_filter=1)
        await self.wait()

    async def end(self, count):
        """Let this many completions come."""
        await self.completions_0.send_all([{"tag": 0, "cause": Cause.DONE}] * count)
        for _ in range(count):
            await self.read_completion()


#: illegal ones, of which some are legal but for a bit
SIZES = [0, 1, 2, 3, 5, 6, 7, 190, 256, 4096, 8188, 8191, *(192 + (1 << k) for k in range(2, 13))]
ILLEGAL = [
    *({"property_bytes": size} for size in SIZES),
    *({"property_address": 4 * 99 + k} for k in (1, 2, 3)),
    *({"property_address": 1 << k} for k in range(32, 64)),
    *({"idx_address": 8 * 99 + k, "wide": 0} for k in (1, 2, 3)),
    *({"idx_address": 8 * 99 + k, "wide": 1} for k in (1, 2, 4, 7)),
    *({"idx_address": 1 << k, "wide": 0} for k in range(32, 64)),
]


@benched(Judged, us=100)
async def judges_requests(host):
    for fields in ILLEGAL:
        assert await host.cause(**fields) is Cause.COMMAND, fields
        assert await host.cause() is Cause.DONE
    most = host.params.rig.most_property_bytes
    for fields in ({"property_bytes": most}, {"idx_address": 4, "wide": 0}):
        assert await host.cause(**fields) is Cause.DONE
    host.dut.filter_illegal.value = 1
    assert await host.cause() is Cause.DONE, "the filter is off"
    host.dut.filter.value = 1
    assert await host.cause() is Cause.COMMAND


@benched(Host, us=100)
async def judges_requests_of_the_ring(host):
    """It judges them like the registers'; fields are whole, except for bits no address has."""
    sink, ring = host.commands_0, host.fetched
    least = {"tag": 0, "idx_address": 0, "count": 0, "wide": 0, "property_address": 0}
    least |= {"property_bytes": 4, "watchdog": 0}
    most = {"tag": 0xFFFF, "idx_address": 0xFFFFFFF8, "count": 0xFFFFFFFF, "wide": 1}
    most |= {"property_address": 0xFFFFFFFC, "watchdog": 0xFFFFFFFF}
    most["property_bytes"] = host.params.rig.most_property_bytes
    judged = [(least, Cause.DONE), (most, Cause.DONE)]
    judged += [(host.request(**fields), Cause.COMMAND) for fields in ILLEGAL]
    for request, _ in judged:
        ring.append({"verdict": Verdict.LEGAL, "unit": 0, "request": request})
    await sink.wait_for(len(judged))
    widths = {name: field.width for name, field in host.params.rig.command}
    assert sink.beats == [
        {name: value % (1 << widths[name]) for name, value in request.items()} | {"cause": cause}
        for request, cause in judged
    ]


@benched(Judged, us=100)
async def one_array_until_the_filter_is_cleared(host):
    """It is that of the first good request with the filter; it changes only at rest."""
    own = {"property_address": 0x1000, "property_bytes": 64}
    others = [own | {"property_address": 0x1040}, own | {"property_bytes": 60}]
    await host.cause(**others[0])  # without the filter
    host.dut.filter.value = 1
    assert await host.cause(**own | {"property_bytes": 6}) is Cause.COMMAND
    assert await host.cause(**own) is Cause.DONE
    for second in others:
        assert await host.cause(**second) is Cause.ARRAY
    assert await host.cause(**own) is Cause.DONE
    host.dut.filter.value = 0
    assert await host.cause(**others[0]) is Cause.DONE, "the filter is off"
    host.dut.filter.value = 1
    await host.end(6)
    await host.clear()
    assert await host.cause(**others[0]) is Cause.ARRAY, "one is still under way"
    for clear in (0, 1):
        assert await host.cause(clear=clear, **others[0]) is Cause.ARRAY
    await host.end(4)
    await host.clear()
    for clear, first, second in ((2, others[0], own), (0, own, others[0]), (1, others[0], own)):
        assert await host.cause(clear=clear, **first) is Cause.DONE
        assert await host.cause(**second) is Cause.ARRAY
        await host.end(2)
    await host.clear()
    requested = random.choices((own, *others), k=20)
    expected = refused([(item["property_address"], item["property_bytes"]) for item in requested])
    assert [await host.cause(**item) is Cause.ARRAY for item in requested] == expected


@benched(Judged, us=100)
async def as_many_as_there_can_be_are_under_way(host):
    """An array stays until the last has ended; those that no unit got do not count."""
    ring = host.fetched
    host.dut.filter.value = 1
    own, other = ({"property_address": at, "property_bytes": 64} for at in (0x1000, 0x2000))
    most = host.params.units * (host.params.rig.commands + 2)

    async def refuse(count):
        for _ in range(count):
            ring.append({"verdict": Verdict.UNREAD, "unit": 0, "request": host.request()})
        for _ in range(count):
            assert (await host.read_completion())["unit"] == NO_UNIT

    await refuse(1)
    for under_way in range(most):
        cause = await host.cause(**(other if under_way else own))
        assert cause is (Cause.ARRAY if under_way else Cause.DONE), under_way
        await host.clear()
    await host.end(most - 1)
    await refuse(1)
    await host.clear()
    assert await host.cause(**other) is Cause.ARRAY
    await host.end(2)
    await host.clear()
    assert await host.cause(**other) is Cause.DONE


#: Arrays, and the bits by which a legal size differs from the array's in no other.
ARRAYS = [(0, 128, (2, 3, 4, 5, 6)), (0xFFFFFFFC, 60, (2, 3, 4, 5, 6, 7)), (0, 64, (7,))]


@benched(Judged, us=400)
async def arrays_differ_by_any_bit(host):
    """Addresses and sizes differ, with each bit set and not."""
    host.dut.filter.value = 1
    for address, size, size_bits in ARRAYS:
        await host.clear()
        own = {"property_address": address, "property_bytes": size}
        others = [{"property_address": address ^ 1 << k} for k in range(2, 32)]
        others += [{"property_bytes": size ^ 1 << k} for k in size_bits]
        for other in others:
            assert await host.cause(**own) is Cause.DONE
            assert await host.cause(**own | other) is Cause.ARRAY, other
            await host.end(2)


class Queue:
    """A unit's queue, ready while it has ``room``, with a register as RigControl's."""

    def __init__(self, dut, k):
        self.dut, self.room, self.taken, self.waits = dut, 0, [], None
        self.stream = [getattr(dut, f"commands_{k}_{name}") for name in ("valid", "payload")]
        self.ready = getattr(dut, f"commands_{k}_ready")
        self.shape = params_in_simulator(SnicParams).rig.command
        cocotb.start_soon(self.run())

    async def run(self):
        valid, payload = self.stream
        while True:
            self.ready.value = self.room > 0
            await RisingEdge(self.dut.clk)
            provided = int(payload.value) if valid.value else None
            assert self.waits in (None, provided), "what waits has changed"
            self.waits = None if self.ready.value else provided
            if provided is not None and self.ready.value:
                self.taken.append(unpack(self.shape, provided)["tag"])
                self.room -= 1


PHASES = 6
OTHER_TAG = 65535


@cocotb.test(timeout_time=400, timeout_unit="us")
async def both_sources_at_once(dut):
    """The registers' request comes in every phase of the ring's, with and without room.

    Room comes in every phase, or never: then the ring waits, and the registers are not held up.
    """
    host = await started(Host(dut))
    ring = Source(dut, "fetched")
    queues = {k: Queue(dut, k) for k in (0, 2)}
    seen = set()
    cases = product(range(PHASES), (*range(PHASES), None), (0, 1), (0, 2), (0, 2))
    for number, (submit_at, room_at, room, ring_unit, unit) in enumerate(cases):
        for queue in queues.values():
            queue.room = 1
            queue.taken.clear()
        queues[ring_unit].room = room
        await ClockCycles(dut.clk, 2)
        tags = [3 * number + k for k in (0, 1)]
        for tag in tags:
            request = host.request(tag=tag)
            ring.append({"verdict": Verdict.LEGAL, "unit": ring_unit, "request": request})
        own = 3 * number + 2
        for at in range(PHASES + 3):
            dut.submit.value = at == submit_at
            if at in (submit_at, submit_at + 2):  # registers may be written every other cycle
                tag, dut.unit.value = (own, unit) if at == submit_at else (OTHER_TAG, 2 - unit)
                dut.request.value = pack(host.params.rig.request, host.request(tag=tag))
            queues[ring_unit].room += at == room_at
            await RisingEdge(dut.clk)
        refused = bool(dut.refused.value)
        assert not refused or unit == ring_unit, "the other unit has room"
        seen.add((refused, ring.missing))
        for queue in queues.values():
            queue.room += 3
        await ClockCycles(dut.clk, 8)
        assert not ring.missing
        provided = queues[ring_unit].taken
        assert [tag for tag in provided if tag != own] == tags, "in the ring's order"
        taken = [tag for queue in queues.values() for tag in queue.taken]
        assert taken.count(own) == (not refused)
        assert refused == bool(dut.refused.value)
    assert seen >= {(refused, waiting) for refused in (False, True) for waiting in (1, 2)}


@crossed(clients=[CLIENTS, OTHERS], us=100)
async def what_no_unit_can_do_is_completed_by_none(dut, clients):
    """Requests are for no client, illegal or not read, in order, beside good ones.

    Completions go to the other ring, those of units among them.
    """
    host = Host(dut, clients)
    host.set(to_ring=1)
    host.entries.stall = often
    await host.begin()

    async def none_for_the_registers():
        await RisingEdge(dut.completion_valid)

    reported_registers = cocotb.start_soon(none_for_the_registers())
    host.fetched.stall = lambda: random.random() < 0.7
    reported = {
        k: [{"tag": k, "cause": Cause.DONE}, {"tag": 0xFFFF, "cause": Cause.DONE}]
        for k in host.clients
    }
    for k, of_unit in reported.items():
        host.completions[k].stall = lambda: random.random() < 0.9
        of_unit += [{"tag": tag, "cause": random.choice(list(Cause))} for tag in range(30)]
        host.completions[k].extend(of_unit)
    expected = {k: [] for k in range(3)}
    ends = []
    for tag in range(150):
        verdict = random.choice(list(Verdict))
        unit = random.choice((0, 1, 2, 3, 31, 32, 128, 130, 255))
        request = host.request(tag=tag)
        host.fetched.append({"verdict": verdict, "unit": unit, "request": request})
        if verdict is Verdict.LEGAL and unit in host.clients:
            expected[unit].append(request | {"cause": Cause.DONE})
        else:
            cause = Cause.DESCRIPTOR if verdict is Verdict.UNREAD else Cause.COMMAND
            ends.append({"unit": NO_UNIT, "completion": {"tag": tag, "cause": cause}})
    await host.entries.wait_for(len(ends) + sum(map(len, reported.values())))
    await ClockCycles(dut.clk, 40)
    assert [item for item in host.entries.beats if item["unit"] == NO_UNIT] == ends
    for k, of_unit in reported.items():
        assert [item["completion"] for item in host.entries.beats if item["unit"] == k] == of_unit
    assert {k: sink.beats for k, sink in enumerate(host.commands)} == expected
    assert not reported_registers.done()


@benched(Host, us=100)
async def keeps_its_latencies(host):
    sink, ring = host.commands_0, host.fetched
    await ClockCycles(host.dut.clk, 2)
    ring.append({"verdict": Verdict.LEGAL, "unit": 0, "request": host.request()})
    await sink.wait_for(1)
    assert sink.cycles[0] - ring.cycles[0] == WorkQueue.fetched_latency
    await ClockCycles(host.dut.clk, 2)
    begun = cycle()
    assert await host.submit(0, host.request())
    assert sink.cycles[1] - begun - 1 == WorkQueue.submit_latency


@benched(Host, us=100)
async def keeps_completions_in_order(host):
    sources = host.completions
    for source in sources:
        source.stall = often
    provided = [[], [], []]
    count = COMPLETIONS + 20
    for _ in range(count):
        unit = random.randrange(3)
        completion = {"tag": random.getrandbits(16), "cause": random.choice(list(Cause))}
        provided[unit].append(completion)
        sources[unit].append(completion)
    await ClockCycles(host.dut.clk, 400)
    assert COMPLETIONS <= sum(len(source.cycles) for source in sources) < count, "has no end"
    result = [[], [], []]
    for _ in range(count):
        completion = await host.read_completion()
        result[completion["unit"]].append(completion["completion"])
    assert result == provided
    await ClockCycles(host.dut.clk, 10)
    assert not host.dut.completion_valid.value
    host.dut.next.value = 1  # of nothing: no harm
    await ClockCycles(host.dut.clk, 10)
    host.dut.next.value = 0
    sources[1].append({"tag": 5, "cause": Cause.DONE})
    expected = {"unit": 1, "completion": {"tag": 5, "cause": Cause.DONE}}
    assert await host.read_completion() == expected

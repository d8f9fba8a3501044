import itertools
import random
from dataclasses import replace

from cocotb.triggers import ClockCycles

from hdl.netsparse.idx_filter.memory_port import FilterMemoryPort
from hdl.netsparse.idx_filter.params import LINE_BYTES, LINE_IDXS
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, benched, crossed, never, often
from tests.hdl.netsparse.idx_filter.bench import SMALL, Dram
from tests.simulated import simulated

SPACE = 1 << 12  #: bytes of memory for each bank: one half is read, the other written
HIGH = (1 << 18) - 4 * SPACE  #: from here on there is room for all banks
SIZES = [
    replace(SMALL, banks=banks, cache_bytes=256 * banks, idx_bits=18, address_bits=18)
    for banks in (1, 2, 4)
]

test_memory_port = simulated(FilterMemoryPort, SIZES, __name__)


class PortBench(Bench):
    def __init__(self, dut, *stalls, latency=lambda: 8):
        super().__init__(dut, *stalls)
        self.dram = Dram(dut, latency=latency, stall=self.sink_stall)
        self.fill_answers = self.record("filled", "filled", "fill_data", "fill_error")
        self.write_answers = self.record("written", "written")
        self.write_errors = self.record("write_error")

    @property
    def filled(self):
        """Return, by bank, cycle, data and error of each fill."""
        answers = [*zip(self.fill_answers.cycles, self.fill_answers.beats, strict=True)]
        return [
            [
                (at, item["fill_data"], item["fill_error"])
                for at, item in answers
                if item["filled"] >> k & 1
            ]
            for k in range(self.params.banks)
        ]

    @property
    def written(self):
        """Return the number of writes of each bank."""
        said = [item["written"] for item in self.write_answers.beats]
        return [sum(written >> k & 1 for written in said) for k in range(self.params.banks)]

    @property
    def errors(self):
        return len(self.write_errors.cycles)

    async def answered(self, count):
        """Wait until ``count`` beats have been taken and answered."""
        while (less := count - sum(map(len, self.filled)) - sum(self.written)) > 0:
            await self.wait(max(1, less // 2))
        await self.wait(4)
        assert self.dram.idle or self.dram.sources["r"].stall is always

    async def watch(self, **said):
        """Pulse ``tick`` or ``revive``; check the bus a while later."""
        await self.strobe(watch=said)
        await self.wait(40)
        return self.value("bus")


@crossed(stalls=STALLS, us=100)
async def each_bank_gets_its_own(dut, stalls):
    bench = PortBench(dut, stalls, latency=lambda: random.randrange(1, 30))
    banks = range(bench.params.banks)
    requested, stored = [[] for _ in banks], {}
    half = SPACE // 2
    count = half // LINE_BYTES
    first, apart = (0, half) if stalls.absent else (HIGH + half, -half)
    for k in banks:
        for number in range(count):
            address = first + k * SPACE + LINE_BYTES * number
            bench.dram.contents[address] = random.getrandbits(LINE_IDXS)
            requested[k].append(address)
            stored[address + apart] = random.getrandbits(LINE_IDXS)
    bad_reads = set(random.sample([item for bank in requested for item in bank], 5))
    bad_writes = set(random.sample(list(stored), 5))
    bench.dram.bad_reads, bench.dram.bad_writes = bad_reads, bad_writes
    before = dict(bench.dram.contents)
    await bench.begin()
    for part in (slice(count - 1), slice(count - 1, None)):  # the last ones after a rest
        for k in banks:
            bench.fills[k].extend(requested[k][part])
            others = [address + apart for address in requested[k][part]]
            bench.write_backs[k].extend([{"address": at, "data": stored[at]} for at in others])
        await bench.answered(2 * len(banks) * len(range(count)[: part.stop]))
    for k in banks:
        assert [error for _, _, error in bench.filled[k]] == [
            item in bad_reads for item in requested[k]
        ]
        for (_, data, error), address in zip(bench.filled[k], requested[k], strict=True):
            assert error or data == before[address]
    assert bench.written == [count for _ in banks]
    assert bench.errors == len(bad_writes)
    for address, data in stored.items():
        assert bench.dram.contents.get(address) == (None if address in bad_writes else data)


@crossed(closed=["aw", "w"], us=50)
async def who_requests_while_half_a_write_has_left_waits(dut, closed):
    """One of AW and W has taken what was chosen, not the other, when another bank asks."""
    bench = PortBench(dut)
    banks = range(bench.params.banks)
    await bench.begin()
    stored = {}

    def write_back(k):
        address = LINE_BYTES * len(stored)
        stored[address] = random.getrandbits(LINE_IDXS)
        bench.write_backs[k].append({"address": address, "data": stored[address]})

    for before, then in itertools.permutations(banks, 2):
        bench.dram.sinks[closed].stall = always
        for k in (*[before] * 6, then):
            write_back(k)
            await ClockCycles(dut.clk, 4)
        bench.dram.sinks[closed].stall = never
        await bench.answered(len(stored))
    assert bench.dram.contents == stored
    assert sum(bench.written) == len(stored)


@crossed((("stall", "base"), [(never, 0), (often, HIGH)]), us=50)
async def zeros_are_written(dut, stall, base):
    bench = PortBench(dut, (stall, stall))
    places = [base + LINE_BYTES * k for k in range(100)]
    bench.dram.contents = dict.fromkeys(places, -1)
    bench.dram.bad_writes = {places[7]}
    await bench.begin()
    await bench.zeros.send_all(places)
    await bench.answered(len(places))
    left = {places[7]: -1}
    assert bench.dram.contents == dict.fromkeys(places, 0) | left
    assert sum(bench.written) == 100
    assert bench.errors == 1
    assert not any(bench.filled)


@crossed(kind=["fills", "write-backs", "zeros"], us=50)
async def a_memory_that_does_not_answer_is_abandoned(dut, kind):
    """What it was asked fails, and what it is asked then; what comes late is nobody's."""
    bench = PortBench(dut)
    banks, places = range(bench.params.banks), [LINE_BYTES * k for k in range(6)]
    bench.dram.freeze()

    def issue():
        for at in places:
            for k in banks:
                if kind == "fills":
                    bench.fills[k].append(k * SPACE + at)
                elif kind == "write-backs":
                    bench.write_backs[k].append({"address": k * SPACE + at, "data": at + 1})
            if kind == "zeros":
                bench.zeros.append(at)
        return len(places) * (1 if kind == "zeros" else len(banks))

    def failed():
        return bench.errors + sum(error for bank in bench.filled for *_, error in bank)

    await bench.begin()
    count = issue()
    await bench.watch()
    assert await bench.watch(tick=1) == {"broken": 0, "silent": 0, "owes": 1, "dropped": 0}
    assert await bench.watch(tick=1) == {"broken": 1, "silent": 1, "owes": 1, "dropped": 0}
    count += issue()
    await bench.answered(count)
    assert failed() == count
    assert (await bench.watch(revive=1))["broken"]
    bench.dram.freeze(False)
    assert not (await bench.watch())["owes"]
    assert not any((await bench.watch(revive=1)).values())
    await bench.answered(count)
    assert failed() == count
    count += issue()
    await bench.answered(count)
    assert failed() == count / 3 * 2
    if kind == "write-backs":
        assert all(bench.dram.contents[k * SPACE + at] == at + 1 for k in banks for at in places)


@benched(PortBench, us=50)
async def a_fill_and_a_write_a_cycle(bench):
    count = 60
    for k, (fills, backs) in enumerate(zip(bench.fills, bench.write_backs, strict=True)):
        for number in range(count):
            fills.append(k * SPACE + LINE_BYTES * number)
            backs.append({"address": k * SPACE + LINE_BYTES * (40 + number), "data": number})
    banks = bench.params.banks
    await bench.answered(2 * count * banks)
    requested, answered = bench.dram.sinks["ar"].cycles, bench.dram.sources["r"].cycles
    for cycles in (requested, bench.dram.sources["b"].cycles):
        assert cycles[-1] - cycles[0] == banks * count - 1
    # A fill's latency: one cycle to AR, and one from R.
    taken = sorted(at for source in bench.fills for at in source.cycles)
    filled = sorted(at for bank in bench.filled for at, *_ in bank)
    for at, first, second, end in zip(taken, requested, answered, filled, strict=True):
        assert (first - at) + (end - second) == FilterMemoryPort.latency

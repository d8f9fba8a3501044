import random

import cocotb

from hdl.common.axi import Response
from hdl.common.read_plan import COUNT_BITS
from hdl.vitis.memory_mover import BURST_BEATS, MemoryMover, MemoryMoverParams
from sim.harness.bench import Bench
from sim.harness.streams import crossed, cycle
from sim.harness.verilator import simulate
from sim.surroundings.axi_ram import RAM_ARRAY, Fault, ram_file
from tests.hdl.vitis.mover_on_memories import SIDES, STATUS, MoverOnMemories

PARAMS = MemoryMoverParams(address_bits=13)
BEATS = (1 << PARAMS.address_bits) // 32
FASTEST = {"read_latency": 3, "write_latency": 2}
ERRORS = (Response.EXOKAY, Response.SLVERR, Response.DECERR)


def test_memory_mover(tmp_path):
    path = tmp_path / "empty.bin"
    path.write_bytes(bytes(32 * BEATS))
    files = [ram_file(k, path) for k in range(len(SIDES))]
    simulate(MoverOnMemories(PARAMS), __name__, extra_sources=[RAM_ARRAY], plusargs=files)


class MoverBench(Bench):
    """Has a mover, and what both memories must hold."""

    async def begin(self):
        await super().begin(after_anything=True)
        self.content = {side: [random.getrandbits(256) for _ in range(BEATS)] for side in SIDES}
        rest = {"valid": 1, "strobes": (1 << 32) - 1}
        await self.play(
            [
                {f"{s}_access": rest | {"beat": k, "data": self.content[s][k]} for s in SIDES}
                for k in range(BEATS)
            ]
        )
        self.slow()
        return self

    def slow(self, **settings):
        """Make both memories slow at random, but for ``settings``."""
        for side in SIDES:
            stalls = {
                f"{c}_stall": random.choice((0, 0, 100, 240)) for c in ("ar", "r", "aw", "w", "b")
            }
            values = stalls | {"seed": random.getrandbits(31), "read_latency": random.randrange(90)}
            self.set(**{f"{side}_settings": values | settings})

    async def start(self, way, offset, beats, **more):
        """Start a copy; what it must change is expected from now on."""
        await self.strobe(**{way: 1}, transfer={"offset": 32 * offset, "beats": beats}, **more)
        self.set(transfer={"offset": random.getrandbits(13), "beats": random.randrange(BEATS)})
        source, target = SIDES if way == "load" else SIDES[::-1]
        for k in range(offset, offset + beats):
            self.content[target][k] = self.content[source][k]

    async def ends(self, **expected):
        """Wait for the end of a copy, and check what it reports."""
        await self.wait()
        await self.until("busy", 0)
        result = {name: int(getattr(self.dut, name).value) for name in ("busy", "done", "broken")}
        result |= {name: self.value(name) for name in ("failed_beats", "failed_bursts")}
        clean = dict.fromkeys(result, 0) | {"done": 1}
        assert result == clean | expected

    async def held(self, side):
        """Return what a memory holds."""
        cycles = [{f"{side}_access": {"valid": 1, "beat": k}} for k in [*range(BEATS), 0]]
        result = await self.played(cycles, f"{side}_accessed")
        return [beat[f"{side}_accessed"] for beat in result][-BEATS:]

    async def check(self):
        """Compare all that memories hold."""
        for side in SIDES:
            assert await self.held(side) == self.content[side], side


@cocotb.test(timeout_time=400, timeout_unit="us")
async def bytes_are_copied_both_ways(dut):
    bench = await MoverBench(dut).begin()
    for k in range(24):
        offset = random.randrange(BEATS)
        beats = (0, 1, BEATS - offset, *range(2, 9))[k] if k < 10 else random.randint(0, BEATS)
        bench.slow()
        await bench.start(random.choice(("load", "store")), offset, min(beats, BEATS - offset))
        await bench.ends()
    await bench.check()


@crossed(way=["load", "store"], us=50)
async def takes_its_latency_and_a_beat_a_cycle(dut, way):
    """Addresses leave at once on both sides; further beats take a cycle each."""
    bench = await MoverBench(dut).begin()
    bench.slow(**FASTEST, **dict.fromkeys([f"{c}_stall" for c in ("ar", "r", "aw", "w", "b")], 0))
    source, target = SIDES if way == "load" else SIDES[::-1]
    lasted, data = [], bench.record(f"{source}_wvalid")
    for beats in (BURST_BEATS, 8 * BURST_BEATS):
        await bench.start(way, 0, beats)
        begun = cycle()
        for _ in range(MemoryMover.latency):  # the first is that of the start
            valid = [getattr(dut, f"{s}_{c}valid").value for s in SIDES for c in ("ar", "aw")]
            assert not any(valid)
            await bench.wait()
        assert getattr(dut, f"{source}_arvalid").value
        assert getattr(dut, f"{target}_awvalid").value
        await bench.until("busy", 0)
        lasted.append(cycle() - begun)
    assert lasted[1] - lasted[0] == 7 * BURST_BEATS
    assert not data.beats
    await bench.check()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def errors_are_counted_and_beats_written_as_they_came(dut):
    bench = await MoverBench(dut).begin()
    for _ in range(12):
        way, error = random.choice(("load", "store")), random.choice(ERRORS).value
        beat = random.randrange(40, 80)
        fails = {"fault": Fault.ERROR.value, "fail_response": error}
        bench.slow(**fails, fail_read=1, fail_read_beat=beat)
        await bench.start(way, 32, 60)
        await bench.ends(failed_beats=1)
        bench.slow(**fails, fail_write=1, fail_write_beat=beat)
        await bench.start(way, 32, 60)
        await bench.ends(failed_bursts=1)
        bench.slow()
        await bench.start(way, 0, 0)
        await bench.ends()
    await bench.check()


FAULTS = [
    *(("read", fault) for fault in (Fault.LAST, Fault.EXTRA, Fault.MUTE, Fault.DEAF)),
    *(("write", fault) for fault in (Fault.MUTE, Fault.DEAF)),
]


@crossed(fault=FAULTS, way=["load", "store"], us=400)
async def a_broken_bus_ends_a_copy_and_is_used_again(dut, fault, way):
    """Nothing is written but what was read; a start fails while an answer is due."""
    bench = await MoverBench(dut).begin()
    direction, kind = fault
    target = SIDES[way == "load"]
    silent = kind in (Fault.MUTE, Fault.DEAF)
    before = list(bench.content[target])
    fails = {"fault": kind.value, f"fail_{direction}": 1, f"fail_{direction}_beat": 70}
    bench.slow(**fails)
    offset = random.randint(30, 45)
    await bench.start(way, offset, 90 - offset)
    for _ in range(3 if silent else 0):
        await bench.wait(1000)
        await bench.strobe(tick=1)
    await bench.until("busy", 0)
    assert dut.broken.value
    assert dut.done.value
    copied = bench.content[target]
    held = zip(await bench.held(target), before, copied, strict=True)
    assert all(now in (old, new) for now, old, new in held)
    if kind is Fault.MUTE:  # an answer is due until the fault ends
        await bench.strobe(**{way: 1}, transfer={"offset": 0, "beats": 1})
        for checks in (0, 1, 0, 0, 0):
            assert dut.busy.value == checks
            assert dut.broken.value
            await bench.wait()
    bench.content[target] = before
    bench.slow()
    for _ in range(4):  # until R has been idle from one tick to the next
        await bench.wait(1000)
        await bench.strobe(tick=1)
    await bench.start(way, offset, 90 - offset)
    await bench.ends()
    assert bench.content[target] == copied
    await bench.check()


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_reset_ends_a_copy_and_forgets_the_last_one(dut):
    bench = await MoverBench(dut).begin()
    fails = {"fault": Fault.ERROR.value, "fail_response": Response.SLVERR.value}
    for k in range(6):
        if k < 2:  # errors have been counted
            way = ("read", "write")[k]
            bench.slow(**fails, **{f"fail_{way}": 1, f"fail_{way}_beat": 40})
            await bench.start("store", 32, 60)
            await bench.until("busy", 0)
        elif k == 2:  # a bus has broken
            bench.slow(fault=Fault.DEAF.value, fail_read=1)
            await bench.start("store", 32, 60)
            for _ in range(3):
                await bench.wait(1000)
                await bench.strobe(tick=1)
            await bench.until("busy", 0)
            assert dut.broken.value
        else:  # a copy is in progress
            bench.slow(fault=Fault.MUTE.value, fail_write=k == 4, fail_read=1, fail_read_beat=90)
            await bench.start("store", 32, 60)
            await bench.wait(random.randint(1, 60))
        await bench.reset()
        assert not any(bench.value(name) for name in STATUS)
        bench.slow()
        await bench.start("store", 32, 60)
        await bench.ends()
    await bench.check()


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_start_while_busy_does_nothing_and_load_goes_before_store(dut):
    bench = await MoverBench(dut).begin()
    assert not dut.done.value
    for _ in range(2):
        await bench.start("load", 3, 100, store=1)
        await bench.wait(2)
        for _ in range(20):
            assert dut.busy.value
            assert not dut.done.value
            start = {"load": 1, "store": random.getrandbits(1)}
            await bench.strobe(**start, transfer={"offset": 0, "beats": 9})
        await bench.ends()
    await bench.check()


@cocotb.test(timeout_time=50, timeout_unit="us")
async def what_passes_the_end_fails_at_once_and_moves_nothing(dut):
    """The highest bits of the offset count, also those that the buses do not have."""
    bench = await MoverBench(dut).begin()
    beyond = [(BEATS - 1, 2), (BEATS, 1), (1, BEATS), (0, (1 << COUNT_BITS) - 1), (1 << 26, 1)]
    for done, (offset, beats) in enumerate(beyond):
        transfer = {"offset": 32 * offset + random.randrange(32), "beats": beats}
        await bench.strobe(**{random.choice(("load", "store")): 1}, transfer=transfer)
        await bench.wait()
        assert dut.busy.value
        for _ in range(MemoryMover.latency + 4):
            await bench.wait()
            assert not dut.busy.value
            assert dut.broken.value
            assert dut.done.value == (done > 0)
        await bench.start("load", *((BEATS, 0), (BEATS - 1, 1))[done % 2])
        await bench.ends()
    await bench.check()

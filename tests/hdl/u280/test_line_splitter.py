import random

import cocotb

from hdl.common.axi import Burst, Response
from hdl.u280.line_splitter import HALF_BITS, LINE_BITS, LineSplitter, LineSplitterParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Stalls, always, never, start
from tests.hdl.u280.axi_bench import master, memory
from tests.simulated import simulated

PARAMS = LineSplitterParams(address_bits=16, length_bits=3)
LINES = ("lines_ar", "lines_aw", "lines_w", "halves_r", "halves_b")  #: channels into it, and out
HALVES = ("halves_ar", "halves_aw", "halves_w", "lines_r", "lines_b")
FAILED = {"id": 0, "data": None, "resp": Response.SLVERR.value, "last": 1}  #: a line, of any data

test_line_splitter = simulated(LineSplitter, [PARAMS], __name__)


class SplitterBench(Bench):
    """Has sources and sinks at all channels, and what leaves for what comes."""

    def __init__(self, dut, stalls=Stalls.NONE):
        super().__init__(dut, stalls)
        for name in (*LINES, *HALVES):
            getattr(self, name)

    def some_request(self):
        """Draw a burst of lines, and return it with that of halves; the rest means nothing."""
        address, length = 64 * random.getrandbits(10), random.getrandbits(self.params.length_bits)
        rest = {"size": random.getrandbits(3), "burst": random.choice((0, 1, 2))}
        halves = {"id": 0, "addr": address, "len": 2 * length + 1}
        halves |= {"size": 5, "burst": Burst.INCR.value}
        return [{"addr": address, "len": length} | rest], [halves]

    def some_write(self):
        """Draw a line to be written, and return it with its halves."""
        line, last = random.getrandbits(LINE_BITS), random.getrandbits(1)
        strobes = random.choice((1 << random.randrange(64), 0b1111 << 30, random.getrandbits(64)))
        halves = [
            {
                "data": line >> k * HALF_BITS & (1 << HALF_BITS) - 1,
                "strb": strobes >> 32 * k & (1 << 32) - 1,
                "last": last * k,
            }
            for k in range(2)
        ]
        return [{"data": line, "strb": strobes, "last": last}], halves

    def some_read(self):
        """Draw halves up to RLAST, and return them with their lines; data that failed is None."""
        count = random.choice((1, 2, 2, 2, 3, 4, 5))
        halves = [
            {"data": random.getrandbits(HALF_BITS), "resp": random.randrange(4), "last": k == count}
            for k in range(1, count + 1)
        ]
        lines = []
        for low, *high in (halves[k : k + 2] for k in range(0, count, 2)):
            lines.append(FAILED)
            if high:
                data = low["data"] | high[0]["data"] << HALF_BITS
                worse = max(low["resp"], high[0]["resp"])
                lines[-1] = {"id": 0, "data": data, "resp": worse, "last": int(high[0]["last"])}
        return halves, lines

    def draw(self, count):
        """Draw what comes in all channels, and return it with what leaves."""
        answers = [{"resp": random.randrange(4)} for _ in range(count)]
        provided, expected = (
            {"halves_b": answers},
            {"lines_b": [{"id": 0} | item for item in answers]},
        )
        for into, out, some in (
            ("lines_ar", "halves_ar", self.some_request),
            ("lines_aw", "halves_aw", self.some_request),
            ("lines_w", "halves_w", self.some_write),
            ("halves_r", "lines_r", self.some_read),
        ):
            pairs = [some() for _ in range(count)]
            provided[into] = [beat for beats, _ in pairs for beat in beats]
            expected[out] = [beat for _, beats in pairs for beat in beats]
        return provided, expected


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def a_line_is_two_halves(dut, stalls):
    """This holds in all channels at a time; of two answers to a read the worse one is the line's.

    A burst that ends within a line fails there: later lines have their own halves.
    """
    bench = await SplitterBench(dut).begin()
    for count in (1, 200):
        provided, expected = bench.draw(count)
        lines = expected.pop("lines_r")
        bench.offer(provided, stalls)
        await bench.lines_r.wait_for(len(lines))
        await bench.finish(**expected)
        for result, line in zip(bench.lines_r.beats, lines, strict=True):
            assert result == line | ({"data": result["data"]} if line["data"] is None else {})


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def a_memory_keeps_lines(dut, stalls):
    """Bursts of all lengths are read as written, by models of AXI that others have made."""
    await start(dut)
    lines = master(dut, "lines", stalls.value[0], max_burst_len=8)
    ram = memory(dut, "halves", stalls.value[1], 1 << 16)
    blocks = [(1024 * k, random.randbytes(64 * (1 + k % 8))) for k in range(24)]
    for write in [lines.init_write(at, block, awid=0) for at, block in blocks]:
        await write.wait()
    assert all(ram.read(at, len(block)) == block for at, block in blocks)
    reads = [lines.init_read(at, len(block), arid=0) for at, block in blocks]
    for (_, block), read in zip(blocks, reads, strict=True):
        await read.wait()
        assert bytes(read.data.data) == block


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_lower_half_waits_for_nobody(dut):
    """The line waits, with the upper half."""
    bench = await SplitterBench(dut, (never, always)).begin()
    await bench.wait()
    bench.halves_r.extend([{"resp": Response.OKAY.value, "data": k, "last": k} for k in (0, 1)])
    await bench.wait(10)
    assert len(bench.halves_r.cycles) == 1
    assert dut.lines_rvalid.value
    bench.lines_r.stall = never
    await bench.lines_r.wait_for(1)

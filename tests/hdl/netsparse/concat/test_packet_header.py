import random
from functools import partial

import cocotb

from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.packet_header import PacketHeader
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, benched, never
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, to_bytes
from tests.simulated import simulated

PARAMS = ConcatenatorParams(
    payload=True, nodes=1 << 16, mtu=9216, most_property_bytes=4096, pool=256
)
test_packet_header = simulated(PacketHeader, [PARAMS], __name__)


def some_mark(params, length=None):
    """Draw a mark and its packet, extremes included, with the most PRs of a ``length``."""
    error = length is None and random.random() < 0.3
    full = length is not None
    length = length or random.choice([4, 18, 64, 4096])
    most = params.room // (18 + length)
    count = 1 if error else random.choice([1, 2, most, random.randrange(1, most + 1)])
    count = most if full else count
    size = 18 + (0 if error else length)
    mark = {
        "dest": random.choice([0, params.nodes - 1, random.randrange(params.nodes)]),
        "error": error,
        "length": length,
        "prs": count,
        "used": count * size,
        "first": params.lines - 1 if full else random.randrange(params.lines),
    }
    kind = Kind.ERROR if error else Kind.RESPONSE
    data = b"" if error else bytes(length)
    pr = Request(kind=kind, dest=mark["dest"], length=length, data=data)
    return mark, [pr] * count


def folding_base(node, mark):
    """Return addresses with which the sum of the packet's header carries twice."""
    while True:
        base = random.getrandbits(32)
        words = [0x4580, mark["used"] + 50, 0x4000, 0x4011]
        for ip in (base + node, base + mark["dest"]):
            words += [ip >> 16 & 0xFFFF, ip & 0xFFFF]
        once = (sum(words) & 0xFFFF) + (sum(words) >> 16)
        if once > 0xFFFF:
            return base


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
@cocotb.parametrize(bases=["random", "zero", "ones", "fold"])
async def headers_are_right(dut, stalls, bases):
    bench = Bench(dut, stalls)
    params, source, sink = bench.params, bench.marks, bench.packets
    marks = [some_mark(params, length) for length in (4, 4096)]
    marks += [some_mark(params) for _ in range(200)]
    node = random.randrange(params.nodes)
    mac, ip = {
        "random": (random.getrandbits(48), random.getrandbits(32)),
        "zero": (0, 0),
        "ones": ((1 << 48) - 1, (1 << 32) - 1),
        "fold": (0, folding_base(node, marks[-1][0])),
    }[bases]
    bench.set(settings={"node": node, "mac_base": mac, "ip_base": ip})
    await bench.begin()
    source.extend([mark for mark, _ in marks])
    await bench.settle()
    addresses = Addresses(mac_base=mac, ip_base=ip)
    for (mark, prs), beat in zip(marks, sink.beats, strict=True):
        assert beat["header"].to_bytes(64, "little") == to_bytes(prs, node, addresses)[:64]
        assert {name: beat[name] for name in ("prs", "used", "first")} == {
            name: mark[name] for name in ("prs", "used", "first")
        }
    if stalls.absent:
        assert source.cycles == list(range(source.cycles[0], source.cycles[0] + len(marks)))
        assert sink.cycles == [at + PacketHeader.latency for at in source.cycles]


@benched(partial(Bench, stalls=(never, always)), us=10)
async def every_stage_holds_a_packet(bench):
    """Each stage does while none is taken."""
    bench.marks.extend([some_mark(bench.params)[0] for _ in range(2 * PacketHeader.latency)])
    await bench.wait(4 * PacketHeader.latency)
    assert len(bench.marks.cycles) == PacketHeader.latency

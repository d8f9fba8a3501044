import random

import cocotb
import pytest

from hdl.netsparse.concat.deconcatenator_params import DeconcatenatorParams
from hdl.netsparse.concat.unpacker import Unpacker
from hdl.netsparse.protocol import Kind
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, benched
from sim.harness.verilator import params_in_simulator, simulate
from sim.netsparse.wire import Packet, max_prs, to_beats
from tests.long import short_and_long

NODE = 0xC0FFEE01
SMALL_MTU = 900


@pytest.mark.parametrize(
    ("payload", "most"),
    short_and_long(
        [(False, 512), (True, 4096), (True, 4), (True, 100)], [(False, 512), (True, 100)]
    ),
    ids=str,
)
def test_unpacker(payload, most):
    mtu = SMALL_MTU if most <= 512 else 4180  # one property of the largest size
    switch = {} if payload else {"nodes": 3000, "any_dest": True, "tag_bits": 10}
    params = DeconcatenatorParams(
        **{"payload": payload, "nodes": 8, "mtu": mtu, "most_property_bytes": most} | switch
    )
    simulate(Unpacker(params), __name__)


def packet(kind, length, count, *, dest=None, bits=random.getrandbits):
    """Return a packet with PRs of random properties and fields of ``bits``, for us or any node."""
    params = params_in_simulator(DeconcatenatorParams)
    if dest is None:
        dest = random.randrange(params.nodes) if params.any_dest else NODE
    return Packet.drawn(bits, count, kind=kind, dest=dest, length=length)


def some(params):
    """Draw a packet of any kind and any size."""
    kinds = [Kind.RESPONSE] * 5 + [Kind.ERROR] if params.payload else [Kind.READ]
    kind = random.choice(kinds)
    length = 4 * random.randint(1, params.most_property_bytes // 4)
    if random.random() < 0.3:
        length = random.choice([4, params.most_property_bytes])
    most = max_prs(kind, length, params.mtu)
    return packet(kind, length, random.choice([1, most, random.randint(1, most)]))


def words_of(item, tag):
    """Return its beats, each with tlast and the tag above; what is after its end is garbage."""
    for data, keep, last, _ in to_beats(item.to_bytes()):
        garbage = random.getrandbits(512) & ~sum(0xFF << 8 * k for k in range(64) if keep >> k & 1)
        yield tag << 513 | last << 512 | data | garbage


def beats_of(params, item):
    """Return what comes out: the fields of each beat, and its bytes of the property."""
    for pr in item.prs:
        header = {"src": pr.src, "tid": pr.tid, "idx": pr.idx, "id": pr.id}
        shared = {"dest": item.dest, "length": item.length, "pr": header}
        if not params.payload:
            yield shared, b""
            continue
        count = max(-(-len(pr.payload) // 64), 1)
        for k in range(count):
            fields = {"error": item.kind is Kind.ERROR, "last": k == count - 1}
            yield shared | fields, pr.payload[64 * k :][:64]


class UnpackerBench(Bench):
    def __init__(self, dut, *stalls, node=NODE):
        super().__init__(dut, *stalls)
        if not self.params.any_dest:
            self.set(node=node)
        if self.params.tag_bits:
            self.tags = self.record("prs_valid", "prs_tag", taken="prs_ready")

    async def check(self, packets):
        """Check all of them, and the cycles of each one's words and beats."""
        bits = self.params.tag_bits
        tags = [random.getrandbits(bits) if bits else 0 for _ in packets]
        words = [list(words_of(item, tag)) for item, tag in zip(packets, tags, strict=True)]
        expected = [list(beats_of(self.params, item)) for item in packets]
        self.words.extend([word for item in words for word in item])
        flat = [beat for item in expected for beat in item]
        if bits:
            for item in expected:
                for k, (fields, _) in enumerate(item):
                    fields |= {"starts": k == 0, "ends": k == len(item) - 1}
        await self.settle()
        if bits:
            beats = zip(tags, expected, strict=True)
            assert [item["prs_tag"] for item in self.tags.beats] == [
                tag for tag, item in beats for _ in item
            ]
        assert len(self.words.cycles) == sum(map(len, words))
        for beat, (fields, data) in zip(self.prs.beats, flat, strict=True):
            assert {name: beat[name] for name in fields} == fields
            assert beat.get("data", 0).to_bytes(64, "little").startswith(data)
        taken, provided = iter(self.words.cycles), iter(self.prs.cycles)
        return [
            ([next(taken) for _ in item], [next(provided) for _ in two])
            for item, two in zip(words, expected, strict=True)
        ]


@benched(UnpackerBench, stalls=STALLS, us=200)
async def any_packets(bench):
    await bench.check([some(bench.params) for _ in range(150 * SMALL_MTU // bench.params.mtu)])


@benched(UnpackerBench, us=200)
async def every_length(bench):
    params = bench.params
    kind = Kind.RESPONSE if params.payload else Kind.READ
    lengths = range(4, min(params.most_property_bytes, 512) + 1, 4 if params.payload else 64)
    large = [size for size in (1020, 2044, 4092, 4096) if size <= params.most_property_bytes]
    await bench.check(
        [packet(kind, size, max(max_prs(kind, size, SMALL_MTU), 1)) for size in (*lengths, *large)]
    )


@cocotb.test(timeout_time=50, timeout_unit="us")
async def zeros_and_ones(dut):
    """Every field is zero, then every bit of it is set."""
    kind = Kind.RESPONSE if params_in_simulator(DeconcatenatorParams).payload else Kind.READ
    bench = await UnpackerBench(dut, node=0).begin()
    bits = (lambda width: 0), (lambda width: (1 << width) - 1)
    await bench.check([packet(kind, 4, 2, dest=0, bits=item) for item in bits])


@benched(UnpackerBench, us=50)
async def latency(bench):
    kind = Kind.RESPONSE if bench.params.payload else Kind.READ
    (((first, *_), (beat, *_)),) = await bench.check([packet(kind, 4, 3)])
    assert beat - first == Unpacker.latency


@benched(UnpackerBench, us=50)
async def nothing_is_lost_in_between(bench):
    """Packets follow without a pause: the side that has more to do has none."""
    params = bench.params
    kind = Kind.RESPONSE if params.payload else Kind.READ
    size = params.most_property_bytes
    packets = [packet(kind, size, max_prs(kind, size, params.mtu)) for _ in range(20)]
    moved = await bench.check(packets)
    words, beats = (sum(len(item[k]) for item in moved) for k in range(2))
    begin, end = moved[0], moved[-1]
    if words > beats:
        assert end[0][-1] - begin[0][0] == words - 1
    else:
        assert end[1][-1] - begin[1][0] == beats - 1

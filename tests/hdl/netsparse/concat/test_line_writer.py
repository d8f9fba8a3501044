import random

from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams
from hdl.netsparse.concat.line_memory import GROUP_BYTES, PIECE_BYTES, PIECES
from hdl.netsparse.concat.line_writer import LineWriter
from sim.harness.bench import Bench
from sim.harness.payloads import unpack
from sim.harness.streams import benched
from tests.simulated import simulated

SIZES = [ConcatenatorParams(payload=payload, nodes=2) for payload in (False, True)]
test_line_writer = simulated(LineWriter, SIZES, __name__)


def written(lines, write, pieces):
    """Return bytes by line and place that the outputs write."""
    return {
        (lines[k * PIECE_BYTES // GROUP_BYTES], k * PIECE_BYTES + byte): (
            pieces >> 8 * (k * PIECE_BYTES + byte) & 0xFF
        )
        for k in range(PIECES)
        if write >> k & 1
        for byte in range(PIECE_BYTES)
    }


@benched(Bench)
async def bytes_go_where_the_packet_goes_on(bench):
    params = bench.params
    cycles, expected = [], []
    # Every offset with beats of the most bytes, then every number of bytes.
    for turn in range(3 * LINE_BYTES):
        first = not params.payload or random.random() < 0.6
        valid = turn < LINE_BYTES // 2 or random.random() < 0.7
        offset = 2 * turn % LINE_BYTES
        most = 64 if params.payload else 0
        count = most if turn < LINE_BYTES // 2 else 2 * (turn % (most // 2 + 1))
        header, data = random.randbytes(18), random.randbytes(64)
        line, new = random.sample(range(params.lines), 2)
        arrival = unpack(params.arrival, random.getrandbits(params.arrival.size))
        arrival |= {"first": first, "bytes": count + 18 * first}
        arrival["pr"] = int.from_bytes(header, "big")
        if params.payload:
            arrival["data"] = int.from_bytes(data, "little")
        ports = {"arrival": arrival, "valid": valid, "offset": offset}
        cycles.append(ports | {"line": line, "behind": new})
        wire = (header if first else b"") + data[:count]
        places = [
            (new if offset == 0 or offset + k >= LINE_BYTES else line, (offset + k) % LINE_BYTES)
            for k in range(len(wire))
        ]
        expected.append(dict(zip(places, wire, strict=True)) if valid else {})
    seen = await bench.played(cycles, "lines", "write", "pieces")
    result = [written(**record) for record in seen]
    assert result[LineWriter.latency :] == expected[: -LineWriter.latency]

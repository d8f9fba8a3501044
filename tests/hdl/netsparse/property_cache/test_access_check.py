"""Checks what an access is to do, by what the golden model says of its length and segments."""

import random

from hdl.netsparse.property_cache.access_check import AccessCheck
from hdl.netsparse.property_cache.params import PRESETS, Operation
from hdl.netsparse.protocol import LENGTH_BITS, MAX_PROPERTY_BYTES
from sim.harness.bench import Bench
from sim.harness.streams import benched
from sim.netsparse.golden.property_cache import PropertyCache
from tests.simulated import simulated

test_access_check = simulated(AccessCheck, [PRESETS["small"]], __name__)


def expected(model, params, access, clear_row):
    """Return the fields of slot and passed that matter."""
    valid, insert, idx, length = access
    serves = valid and not model.bypasses(length)
    clearing = clear_row is not None
    passed = {
        "lookup": serves and not insert,
        "insert": serves and insert,
        "bypassed": valid and not serves,
        "discarded": serves and insert and clearing,
        "mode": model.together - 1 if serves else None,  # a bit for each power of two below
    }
    if clearing:
        return passed, {"operation": Operation.CLEAR, "row": clear_row}
    if not serves:
        return passed, {"operation": Operation.NONE}
    row = model.segments_of(idx).start * params.sets + idx % params.sets
    operation = Operation.INSERT if insert else Operation.LOOKUP
    return passed, {"operation": operation, "row": row, "tag": idx // params.sets}


@benched(Bench, us=100)
async def each_access_by_its_length(bench):
    params = bench.params
    model = PropertyCache(params.segments, params.sets, params.ways)
    cycles, due = [], [None]
    steps = [16 << k for k in range(params.segment_bits + 1)]
    sizes = [0, 1, *(size + more for size in steps for more in (-1, 0, 1)), MAX_PROPERTY_BYTES]
    sizes = [None, *random.sample(sizes, len(sizes)), 8191]
    for size, cycle in ((size, cycle) for size in sizes for cycle in range(60)):
        configure = cycle == 59 and size is not None
        near = model.property_bytes ^ 1 << random.randrange(LENGTH_BITS)
        length = random.choice((model.property_bytes, near, random.choice(sizes[1:])))
        access = random.random() < 0.9, random.getrandbits(1), random.getrandbits(40), length
        clear_row = random.choice((None, None, None, random.randrange(params.rows)))
        inputs = dict(zip(("valid", "insert", "idx", "length"), access, strict=True))
        inputs |= {"clearing": clear_row is not None, "clear_row": clear_row or 0}
        inputs |= {"configure": configure}
        inputs |= {"property_bytes": size if configure else random.getrandbits(13)}
        cycles.append(inputs)
        due.append(expected(model, params, access, clear_row))
        if configure:
            model.configure(size)
    shown = await bench.played(cycles, "passed", "slot")
    for item, required in zip(shown[1:], due[1:-1], strict=True):
        for result, fields in zip(item.values(), required, strict=True):
            known = {name: value for name, value in fields.items() if value is not None}
            assert {name: result[name] for name in known} == known

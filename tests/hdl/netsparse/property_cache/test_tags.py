"""Compares the tags of a row with lists of what its ways hold, in the order of their use."""

import random

from hdl.netsparse.property_cache.params import PRESETS, Operation, PropertyCacheParams
from hdl.netsparse.property_cache.tags import PropertyTags
from sim.harness.bench import Bench
from sim.harness.streams import benched
from tests.simulated import simulated

SIZES = [PRESETS["tiny"], PropertyCacheParams(cache_bytes=1024, segments=2, idx_bits=9)]

test_tags = simulated(PropertyTags, SIZES, __name__)


class Row:
    """The tags of the ways, and the ways that hold one, the least recently used first."""

    def __init__(self, ways):
        self.tags = [None] * ways
        self.order = []

    def do(self, operation, tag):
        """Return the fields of the verdict that matter."""
        verdict = {"result": 0, "installed": 0, "replaced": 0}
        if operation is Operation.CLEAR:
            self.__init__(len(self.tags))
        elif operation is not Operation.NONE and tag in self.tags:
            way = self.tags.index(tag)
            verdict |= {"result": 1, "way": 1 << way}
            if operation is Operation.LOOKUP:
                self.order.remove(way)
                self.order.append(way)
        elif operation is Operation.INSERT:
            full = None not in self.tags
            way = self.order.pop(0) if full else self.tags.index(None)
            self.order.append(way)
            self.tags[way] = tag
            verdict |= {"installed": 1, "replaced": full, "way": 1 << way}
        return verdict


@benched(Bench, us=100)
async def the_least_recent_path_goes(bench):
    """Ways of rows that are cleared meanwhile are among them."""
    params = bench.params
    rows = [Row(params.ways) for _ in range(params.rows)]
    expected = [{"result": 0, "installed": 0, "replaced": 0}] * PropertyTags.latency
    slots = [(Operation.CLEAR, row, 0) for row in range(params.rows)]
    for _ in range(24):
        chosen = random.sample(range(params.rows), random.randint(1, 2))
        tags = [random.getrandbits(params.tag_bits) for _ in range(params.ways + 2)]
        kinds = [*[Operation.LOOKUP, Operation.INSERT] * 20, Operation.NONE, Operation.NONE]
        kinds += [Operation.CLEAR] * random.getrandbits(1)
        slots += [
            (random.choice(kinds), random.choice(chosen), random.choice(tags)) for _ in range(200)
        ]
    expected += [rows[row].do(operation, tag) | {"row": row} for operation, row, tag in slots]
    names = ("operation", "row", "tag")
    cycles = [{"slot": dict(zip(names, slot, strict=True))} for slot in slots]
    shown = await bench.played(cycles, "verdict")
    for item, fields in zip(shown, expected, strict=False):
        assert {key: item["verdict"][key] for key in fields} == fields

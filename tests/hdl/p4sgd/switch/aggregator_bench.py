"""Gives an aggregator requests, one a cycle, and compares what it shows of each in its cycle."""

import random

from hdl.p4sgd.switch.aggregator import Aggregator
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack

QUIET = (0, 0, 0, 0)


class Requests:
    """Keeps what is driven in each cycle, and the outputs that the specification says of it."""

    def __init__(self, params):
        self.params, self.hot = params, 0
        self.rows = []  # slot, valid, clear, request
        self.golden = []  # outputs by name; fields of structs that are left out may be anything

    def anything(self, **fields):
        """Return a request of which only these fields count."""
        shape = self.params.request
        return pack(shape, unpack(shape, random.getrandbits(shape.size)) | fields)

    def idle(self):
        self.without_packet(random.randrange(self.params.slots), 0, self.anything())

    def without_packet(self, slot, clear, request):
        self.rows.append((slot, 0, clear, request))
        self.golden.append({"verdict": "NONE", "answered": 0})

    def header(self, use, is_agg):
        return {
            "job": random.randrange(self.params.jobs),
            "epoch": random.getrandbits(16),
            "seq": random.getrandbits(16),
            "use": use,
            "is_agg": int(is_agg),
        }

    def some_slot(self, k, period):
        """Return a slot, mostly the hot one, to which it comes back after one or a few others."""
        if k % period == 0:
            self.hot = random.randrange(self.params.slots)
        return self.hot if random.random() < 0.6 else random.randrange(self.params.slots)

    async def check(self, bench: Bench):
        """Drive all, one a cycle, and compare what comes of each in exactly the right cycle."""
        lead, latency = Aggregator.lead, Aggregator(self.params).latency
        begun = [QUIET] * lead + self.rows + [QUIET] * (latency + 1)
        early = [row[0] for row in self.rows] + [0] * (lead + latency)
        header, rows = self.params.request["header"], []
        for k, slot in enumerate(early):
            _, valid, clear, request = begun[k]
            ahead = begun[k + 1][3] >> header.offset & (1 << header.width) - 1
            row = {"slot": slot, "ahead": ahead, "valid": valid}
            rows.append(row | {"clear": clear, "request": request})
        outputs = {name for golden in self.golden for name in golden}
        shown = (await bench.played(rows, *outputs))[lead + latency :]
        for k, (result, golden) in enumerate(zip(shown, self.golden, strict=True)):
            result["verdict"] = result["verdict"].name
            for name, value in golden.items():
                expected = result[name] | value if isinstance(value, dict) else value
                assert (k, result[name]) == (k, expected), name

    @property
    def verdicts(self):
        return {golden["verdict"] for golden in self.golden}

"""Tests ports and cache together, as units use them."""

import random

import cocotb
import numpy as np
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params
from hdl.netsparse.idx_filter.cache import FilterCache, FilterCacheParams
from hdl.netsparse.idx_filter.port import FilterPort, FilterPortParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Sink, benched, cycle
from tests.hdl.netsparse.idx_filter.bench import Dram
from tests.simulated import simulated


class FilterParams(Params, suffix="{cache.suffix}"):
    cache: FilterCacheParams
    port: FilterPortParams


class Filter(Component):
    """Has a port per unit at the cache."""

    def __init__(self, params: FilterParams):
        units = params.cache.units
        super().__init__(
            params,
            lookups=In(stream.Signature(params.port.lookup)).array(units),
            results=Out(stream.Signature(params.port.result)).array(units),
            sets=In(stream.Signature(params.port.setting)).array(units),
            set_done=Out(stream.Signature(params.port.set_result)).array(units),
            control=In(params.cache.control),
            busy=Out(1),
            idle=Out(1),
            axi=Out(FilterCache(params.cache).axi.signature),
        )

    def build(self, m):
        m.submodules.cache = cache = FilterCache(self.params.cache)
        connect(m, flipped(self.axi), cache.axi)
        m.d.comb += [
            cache.control.eq(self.control),
            self.busy.eq(cache.busy),
            self.idle.eq(cache.idle),
        ]
        for k in range(self.params.cache.units):
            m.submodules[f"port_{k}"] = port = FilterPort(self.params.port)
            m.d.comb += port.enable.eq(1)
            connect(m, port.requests, cache.requests[k])
            connect(m, cache.answers[k], port.answers)
            for name in ("lookups", "results", "sets", "set_done"):
                connect(m, flipped(getattr(self, name)[k]), getattr(port, name))


PARAMS = FilterParams(
    cache=FilterCacheParams(
        units=2,
        banks=2,
        cache_bytes=1024,
        ways=2,
        unit_bytes=32,
        idx_bits=20,
        address_bits=20,
        slots=24,
    ),
    port=FilterPortParams(lsq_entries=24, reserved=3, idx_bits=20, entry_bits=10),
)

test_filter = simulated(Filter, [PARAMS], __name__)


class FilterBench(Bench):
    async def begin(self):
        self.set(control={"base": 0, "columns": 64 * 512, "clear": 0})
        self.dram = Dram(self.dut, stall=self.sink_stall, latency=lambda: random.randrange(1, 40))
        await super().begin()
        await self.until("busy", 0)
        return self

    async def gather(self, k, order):
        """Let unit k look ``order`` up; return the idxs that it has set, as it found them 0."""
        results, set_done = self.results[k], self.set_done[k]
        first, seen, fetched = len(set_done.beats), len(results.beats), []

        def look(result):
            if not result["bit"] and result["idx"] not in fetched:
                self.sets[k].append({"entry": len(fetched), "idx": result["idx"]})
                fetched.append(result["idx"])

        results.add_callback(look)
        lookups = [{"idx": idx, "entry": number} for number, idx in enumerate(order)]
        await self.lookups[k].send_all(lookups)
        await results.wait_for(seen + len(order))
        await set_done.wait_for(first + len(fetched))
        for result, lookup in zip(results.beats[seen:], lookups, strict=True):
            assert result == lookup | {"bit": result["bit"], "failed": 0}
        numbers = [{"entry": number, "failed": 0} for number in range(len(fetched))]
        assert set_done.beats[first:] == numbers
        return fetched


@benched(FilterBench, stalls=STALLS, lines=[2, 30], us=400)
async def an_idx_is_set_once_by_each_unit(bench, lines):
    """As in a RIG unit, what a lookup finds at 0 is fetched, set, and found at 1 ever after."""
    idxs = [random.randrange(lines) * 512 + random.randrange(30) for _ in range(100)]
    orders = [random.choices(idxs, k=600) for _ in bench.lookups]
    tasks = [cocotb.start_soon(bench.gather(k, order)) for k, order in enumerate(orders)]
    fetched = [await task for task in tasks]
    for order, own in zip(orders, fetched, strict=True):
        assert len(own) == len({*own})
        assert {*own} <= {*order}
    assert {*fetched[0]} | {*fetched[1]} == {*orders[0]} | {*orders[1]}
    again = [await bench.gather(k, order) for k, order in enumerate(orders)]
    assert again == [[], []]


@benched(FilterBench, us=100)
async def one_lookup_a_cycle(bench):
    """Two units look up random idxs, each in lines of its own that are cached."""
    for lookups in (2, 1000):
        before = [len(results.beats) for results in bench.results]
        for k, source in enumerate(bench.lookups):
            for number in range(lookups):
                line = k + 2 * (number % 2)
                source.append({"idx": line * 512 + random.randrange(512), "entry": number})
        for count, results in zip(before, bench.results, strict=True):
            await results.wait_for(count + lookups)
    extra = FilterPort.request_latency + FilterCache.latency + FilterPort.answer_latency
    for source, results in zip(bench.lookups, bench.results, strict=True):
        sent = source.cycles[2:]
        assert sent == list(range(sent[0], sent[0] + 1000))
        assert results.cycles[2:] == [at + extra for at in sent]


@benched(FilterBench, us=100)
async def sets_are_done_while_no_result_is_taken(bench):
    for results in bench.results:
        results.stop()
    begun = cycle()
    for k, source in enumerate(bench.lookups):
        for _ in range(40):
            source.append({"idx": random.randrange(64 * 512), "entry": 0})
        for number in range(60):
            bench.sets[k].append({"entry": number, "idx": k * 512 + number * 5})
    for done in bench.set_done:
        await done.wait_for(60)
    assert cycle() - begun < 10000
    bits = np.zeros(1024, int)
    for k in range(2):
        bits[k * 512 + 5 * np.arange(60)] = 1
    bench.results = [Sink(bench.dut, f"results_{k}") for k in range(2)]
    for results in bench.results:
        await results.wait_for(40)
    for k, source in enumerate(bench.lookups):
        for idx in range(k * 512, (k + 1) * 512):
            source.append({"idx": idx, "entry": 0})
    for k, results in enumerate(bench.results):
        await results.wait_for(40 + 512)
        assert [beat["bit"] for beat in results.beats[40:]] == bits[
            k * 512 : (k + 1) * 512
        ].tolist()
    await bench.wait(5)
    assert bench.dut.idle.value
    assert bench.dram.idle

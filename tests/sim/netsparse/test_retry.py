"""Lets a host whose packets are lost ask again, by registers or rings; node 1 serves node 0."""

from dataclasses import replace

import cocotb
import pytest

from sim.harness.payloads import pack, unpack
from sim.harness.streams import crossed
from sim.host.device import DeviceError
from sim.netsparse.host.snic.request_runner import GatherFailed
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.surroundings.link import LINK_SETTINGS
from sim.netsparse.surroundings.network import link_counts
from tests.sim.netsparse.ring_bench import CLIENTS, Bench, simulate_bench

WATCHDOG = 1000
LINK = LeafSpine().link_of(0)
FIRST = {"drop": 1, "drop_at": 0}


def test_retry(tmp_path, rng):
    """This runs all of the module's tests in one simulation."""
    simulate_bench(tmp_path, rng, __name__)


class Requesting(Bench):
    """Submits requests with a watchdog, by registers or by rings, and keeps what was submitted."""

    async def begin(self, dut, each, by_rings=False):
        await super().begin(dut)
        self.requested = self.of_all(queue[:each] for queue in self.queues)
        self.requested = [replace(item, watchdog=WATCHDOG) for item in self.requested]
        requested, nothing = self.gather.idxs
        self.gather = replace(self.gather, idxs=[[queue[:each] for queue in requested], nothing])
        if by_rings:
            await self.open()
        self.submitted = []  # tags, in each attempt
        self.cleared_after = []  # so many attempts
        program = self.snic.program
        carry_out, clear = program.carry_out, program.clear_filter

        def noted(requests):
            self.submitted.append([item.tag for item in requests])
            return carry_out(requests)

        def noted_clear():
            assert not program.registers.read("busy_units") & (1 << CLIENTS) - 1, "at rest"
            self.cleared_after.append(len(self.submitted))
            clear()

        program.carry_out, program.clear_filter = noted, noted_clear
        return self

    def lose(self, **faults):
        """Lose packets of these classes: reads on their way from node 0, or responses to it."""
        self.dut.faulty_link.value = LINK + ("responses" in faults)
        self.dut.link.value = pack(LINK_SETTINGS, {"latency": 10} | faults)

    async def fails(self, cause, attempts):
        """Check that a gather ends so, after this many of three attempts."""
        with pytest.raises(GatherFailed, match=f" as {cause}") as caught:
            await self.snic.complete(self.requested)
        assert len(self.submitted) == attempts
        assert self.cleared_after == list(range(1, attempts))
        assert sorted(done.tag for done in caught.value.completions) == sorted(self.tags)
        assert cause in caught.value.causes

    @property
    def tags(self):
        return [item.tag for item in self.requested]


@crossed(how=[(False, "reads"), (True, "responses")])
async def what_a_lost_packet_stops_is_done_again(dut, how):
    by_rings, lost = how
    bench = await Requesting().begin(dut, 4, by_rings)
    bench.lose(**{lost: FIRST})
    result = await bench.snic.complete(bench.requested)
    first, *more = bench.submitted
    assert sorted(first) == sorted(bench.tags)
    assert len(more) == 1
    assert bench.cleared_after == [1]
    assert 0 < len(more[0]) < len(first), "those that were done are not asked again"
    await bench.check(result, bench.requested)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_loss_that_stays_ends_with_its_cause(dut):
    """The first read of each attempt is lost."""
    bench = await Requesting().begin(dut, 1)
    bench.lose(reads=FIRST)

    async def lose_the_next():
        while True:
            await dut.link_counts.value_change
            links = unpack(link_counts(LeafSpine()), int(dut.link_counts.value))
            begun = links[LINK]["reads"]["packets"] + links[LINK]["reads"]["dropped"]
            bench.lose(reads={"drop": 1, "drop_at": begun})

    losing = cocotb.start_soon(lose_the_next())
    await bench.fails("WATCHDOG", attempts=3)
    losing.cancel()
    bench.lose()
    bench.submitted.clear()
    await bench.snic.clear_filter()
    result = await bench.snic.complete(bench.requested)
    await bench.check(result, bench.requested)


@crossed(cause=["RANGE", "COMMAND", "REMOTE", "ARRAY"])
async def what_no_retry_mends_is_not_retried(dut, cause):
    """It is not, even beside a lost packet; the filter stays as it is, to be looked into."""
    bench = await Requesting().begin(dut, 1)
    if cause != "REMOTE":
        bench.lose(reads=FIRST)
    if cause == "RANGE":
        await bench.snic.write_wide(columns=100)
    elif cause == "REMOTE":
        await bench.other.write(served_bytes=4)
    else:
        change = {"idx_address": 2} if cause == "COMMAND" else {"property_address": 64}
        bench.requested[0] = replace(bench.requested[0], **change)
    await bench.fails(cause, attempts=1)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_could_wait_for_ever_is_refused(dut):
    bench = await Requesting().begin(dut, 1)
    item = bench.requested[0]
    bench.requested[0] = replace(item, watchdog=0)
    with pytest.raises(ValueError, match=f"request {item.tag} has no watchdog"):
        await bench.snic.complete(bench.requested)
    bench.requested[0] = replace(item, tag=bench.requested[-1].tag)
    with pytest.raises(ValueError, match="two requests have the same tag"):
        await bench.snic.complete(bench.requested)
    assert not bench.submitted
    # Nor does anybody wait for ever for a client that does not come to rest.
    bench.lose(reads=FIRST)
    await bench.snic.submit([item])
    bench.snic.program.seconds = 0
    with pytest.raises(DeviceError, match="the last request has not ended"):
        await bench.snic.rest()

"""Lets a host whose packets are lost ask again, by registers or rings; node 1 serves node 0."""

from dataclasses import replace

import cocotb
import pytest

from hdl.netsparse.rig.params import Cause
from sim.harness.payloads import pack, unpack
from sim.netsparse import driver
from sim.netsparse.retry import GatherFailed
from sim.netsparse.surroundings.link import LINK_SETTINGS
from sim.netsparse.surroundings.network import link_counts
from sim.netsparse.topology import LeafSpine
from tests.sim.netsparse.ring_bench import CLIENTS, Bench, simulate_bench

WATCHDOG = 1000
LINK = LeafSpine().link_of(0)
FIRST = {"drop": 1, "drop_at": 0}


def test_retry(tmp_path, rng):
    """This runs all of the module's tests in one simulation."""
    simulate_bench(tmp_path, rng, __name__)


class Asking(Bench):
    """Submits requests with a watchdog, by registers or by rings, and keeps what was submitted."""

    async def begin(self, dut, each, by_rings=False):
        await super().begin(dut)
        self.by_rings = by_rings
        self.submitted = []
        self.queues = [[replace(one, watchdog=WATCHDOG) for one in q[:each]] for q in self.queues]
        asked, nothing = self.gather.idxs
        self.gather = replace(self.gather, idxs=[[queue[:each] for queue in asked], nothing])
        if by_rings:
            await self.rings.open()
        run = self.rings.run if by_rings else self.snic.run

        async def noted(requests, *others):
            self.submitted.append([one.tag for queue in requests for one in queue])
            return await run(requests, *others)

        (self.rings if by_rings else self.snic).run = noted
        self.cleared_after = []  # so many runs
        clear = self.snic.clear_filter

        async def noted_clear():
            assert not await self.snic.read("busy_units") & (1 << CLIENTS) - 1, (
                "clients are at rest"
            )
            self.cleared_after.append(len(self.submitted))
            await clear()

        self.snic.clear_filter = noted_clear
        return self

    def lose(self, **faults):
        """Lose packets of these classes: reads on their way from node 0, or responses to it."""
        self.dut.faulty_link.value = LINK + ("responses" in faults)
        self.dut.link.value = pack(LINK_SETTINGS, {"latency": 10} | faults)

    async def ask(self, attempts=3):
        if self.by_rings:
            return await self.rings.gather(self.queues, attempts)
        return await self.snic.gather(self.queues, self.dut.interrupts, 0, attempts)

    async def fails(self, cause, attempts):
        """Check that a gather ends so, after this many of three attempts."""
        with pytest.raises(GatherFailed, match=f" as {cause.name}") as caught:
            await self.ask()
        assert caught.value.attempts == len(self.submitted) == attempts
        assert self.cleared_after == list(range(1, attempts))
        assert sorted(done.tag for done in caught.value.completions) == sorted(self.tags)
        return caught.value

    @property
    def tags(self):
        return [one.tag for queue in self.queues for one in queue]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(how=[(False, "reads"), (True, "responses")])
async def what_a_lost_packet_stops_is_done_again(dut, how):
    by_rings, lost = how
    bench = await Asking().begin(dut, 4, by_rings)
    bench.lose(**{lost: FIRST})
    found = await bench.ask()
    first, *more = bench.submitted
    assert sorted(first) == sorted(bench.tags)
    assert len(more) == 1
    assert bench.cleared_after == [1]
    assert 0 < len(more[0]) < len(first), "those that were done are not asked again"
    await bench.check(found, [(0, one) for queue in bench.queues for one in queue])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_loss_that_stays_ends_with_its_cause(dut):
    """The first read of each attempt is lost."""
    bench = await Asking().begin(dut, 1)
    bench.lose(reads=FIRST)

    async def lose_the_next():
        while True:
            await dut.link_counts.value_change
            links = unpack(link_counts(LeafSpine()), int(dut.link_counts.value))
            begun = links[LINK]["reads"]["packets"] + links[LINK]["reads"]["dropped"]
            bench.lose(reads={"drop": 1, "drop_at": begun})

    losing = cocotb.start_soon(lose_the_next())
    failure = await bench.fails(Cause.WATCHDOG, attempts=3)
    assert "after 3 attempts ended request " in str(failure)
    losing.cancel()
    bench.lose()
    bench.submitted.clear()
    await bench.snic.clear_filter()
    found = await bench.ask()
    await bench.check(found, [(0, one) for queue in bench.queues for one in queue])


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(cause=[Cause.RANGE, Cause.COMMAND, Cause.REMOTE, Cause.ARRAY])
async def what_no_retry_mends_is_not_retried(dut, cause):
    """It is not, even beside a lost packet; the filter stays as it is, to be looked into."""
    bench = await Asking().begin(dut, 1)
    if cause is not Cause.REMOTE:
        bench.lose(reads=FIRST)
    if cause is Cause.RANGE:
        await bench.snic.write_wide(columns=100)
    elif cause is Cause.REMOTE:
        await bench.other.write(served_bytes=4)
    else:
        change = {"idx_address": 2} if cause is Cause.COMMAND else {"property_address": 64}
        bench.queues[0][-1] = replace(bench.queues[0][-1], **change)
    await bench.fails(cause, attempts=1)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_could_wait_for_ever_is_refused(dut):
    bench = await Asking().begin(dut, 1)
    one = bench.queues[0][0]
    bench.queues[0][0] = replace(one, watchdog=0)
    with pytest.raises(ValueError, match=f"request {one.tag} has no watchdog"):
        await bench.ask()
    bench.queues[0][0] = replace(one, tag=bench.queues[CLIENTS - 1][0].tag)
    with pytest.raises(ValueError, match="two requests have the same tag"):
        await bench.ask()
    assert not bench.submitted
    # Nor does anybody wait for ever for a client that does not come to rest.
    bench.lose(reads=FIRST)
    await bench.snic.submit(0, one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "REST_POLLS", 3)
        with pytest.raises(driver.NotAtRest):
            await bench.snic.clients_at_rest()

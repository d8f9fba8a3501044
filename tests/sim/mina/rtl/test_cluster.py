"""Runs jobs that share hardware switches, with bad links, restarts and deaths: sums are exact."""

import random

import cocotb
from cocotb.triggers import ClockCycles

from sim.harness.verilator import params_in_simulator, simulate
from tests.sim.mina.rtl.cluster import BAD, RtlCluster
from tests.sim.mina.rtl.network import GOOD
from tests.sim.mina.rtl.switches import THREE, Switches, SwitchesParams

JOBS = ((0, (0, 1)), (1, (2, 3)), (2, (4, 5)))
ONE = ((0,),)
TREES = ((0,), (1,), (2,))
OPERATIONS = 8


def test_cluster():
    simulate(Switches(THREE), __name__)


async def begin(dut, trees=ONE, faults=GOOD):
    params, seed = params_in_simulator(SwitchesParams), random.getrandbits(32)
    return await RtlCluster(dut, params, seed, JOBS, trees, faults=faults).begin()


def report(cluster):
    """Log what occurred."""
    met = cluster.events, cluster.links.counts, cluster.controller.counters, cluster.with_ina()
    cocotb.log.info("%s %s %s %s", *met)


async def end(cluster):
    """Check that all sums are those of the parts, bit for bit, and the cluster can be used."""
    cluster.check()
    await cluster.usable()
    report(cluster)


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def on_good_links_all_use_ina_in_turn(dut):
    cluster = await begin(dut)
    await cluster.train(OPERATIONS)
    await end(cluster)
    assert not cluster.links.counts["drop"]
    assert all(0 < ina < sums for ina, sums in cluster.with_ina().values())


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def frames_are_lost_doubled_and_late(dut):
    cluster = await begin(dut, faults=BAD)
    await cluster.train(OPERATIONS)
    assert not any(model.member.host.ended for model in cluster.hosts.values())
    assert all(cluster.links.counts[name] for name in ("drop", "duplicate", "reorder", "again"))
    await end(cluster)


class Training:
    """Lets hosts train for as long as something happens to them, and then to the end."""

    def __init__(self, cluster):
        self.cluster = cluster

    async def __aenter__(self):
        self.cluster.busy = True
        self.task = cocotb.start_soon(self.cluster.train(OPERATIONS))
        return self

    async def __aexit__(self, kind, *_):
        self.cluster.busy = False
        if kind is None:
            await self.task

    async def use(self):
        """Return the switch of an operation with INA that is under way, and a host that does it."""

        def users():
            hosts = self.cluster.hosts.items()
            return [k for k, model in hosts if model.member.host.busy and model.member.host.used]

        await self.cluster.until(users)
        number = users()[0]
        return self.cluster.hosts[number].member.host.grant.tree, number


faults = cocotb.parametrize(faults=[GOOD, BAD])


@cocotb.test(timeout_time=50, timeout_unit="ms")
@faults
async def a_switch_is_reset_under_traffic(dut, faults):
    cluster = await begin(dut, TREES, faults)
    async with Training(cluster) as training:
        for _ in range(3):
            switch, _ = await training.use()
            cluster.restart_switch(switch)
            await ClockCycles(dut.clk, 3000)
    assert not any(model.member.host.ended for model in cluster.hosts.values())
    await end(cluster)


@cocotb.test(timeout_time=50, timeout_unit="ms")
@faults
async def the_controller_restarts(dut, faults):
    cluster = await begin(dut, TREES, faults)
    async with Training(cluster) as training:
        for _ in range(4):
            await training.use()
            cluster.restart_controller()
            await ClockCycles(dut.clk, 1700)
    await end(cluster)


@cocotb.test(timeout_time=50, timeout_unit="ms")
@faults
async def a_host_dies_that_uses_the_switch(dut, faults):
    """Its job ends, and the others use the switch that it held."""
    cluster = await begin(dut, ONE, faults)
    async with Training(cluster) as training:
        _, host = await training.use()
        cluster.kill(host)
        await cluster.until(lambda: cluster.controller.stable.dropped)
    assert [job for job, _ in cluster.controller.stable.dropped] == [cluster.job_of[host]]
    await end(cluster)


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def everything_at_once(dut):
    cluster = await begin(dut, TREES, BAD)
    async with Training(cluster) as training:
        for _ in range(4):
            switch, _ = await training.use()
            cluster.restart_switch(switch)
            cluster.restart_controller()
            await ClockCycles(dut.clk, 2500)
        _, host = await training.use()
        cluster.kill(host)
    await end(cluster)

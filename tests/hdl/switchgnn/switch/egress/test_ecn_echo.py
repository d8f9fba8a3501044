"""Checks whose ACKs are marked, against the rule, for random queues and jobs."""

import random

import cocotb

from hdl.switchgnn.switch.egress.ecn_echo import EcnEcho
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.switchgnn.golden.congestion import hears
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=ports, jobs=jobs, links=links)
    for ports, jobs, links in ((3, 2, 0), (3, 2, 1), (32, 16, 0), (32, 16, 4))
]

test_ecn_echo = simulated(EcnEcho, SIZES, __name__, ids=lambda of: f"{of.ports}_{of.links}")


def some_ports(ports, chance):
    """Return a bitmap of ports, each with this chance."""
    return sum((random.random() < chance) << k for k in range(ports))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def workers_of_a_job_hear_of_all_its_ports(dut):
    """With links, marks come beside others, ACKs, the end of a job and resets, at few ports."""
    bench = Bench(dut)
    params = bench.params
    ports = range(params.ports)
    expected = passed = 0
    names, met, heard = ("mark_to", "acked") if params.links else (), set(), set()
    await start(dut)
    for k in range(1500):
        if k == 0 or random.random() < 0.3:
            size = params.port_job.size
            jobs = [unpack(params.port_job, random.getrandbits(size)) for _ in ports]
            jobs = [each | {"job": random.randrange(params.jobs)} for each in jobs]
            words = [pack(params.port_job, each) for each in jobs]
            dut.jobs.value = sum(word << k * size for k, word in enumerate(words))
        entering, leaving = (some_ports(params.ports, random.choice((0, 0.05, 0.3))) for _ in "io")
        dut.entering.value, dut.leaving.value = entering, leaving
        dut.rst.value = reset = int(random.random() < 0.02)
        seen = {name: some_ports(params.ports, random.choice((0, 0.5))) for name in names}
        for name, word in seen.items():
            getattr(dut, name).value = word
        await bench.edge
        assert int(dut.echo.value) == expected, k
        active = sum(own["active"] << k for k, own in enumerate(jobs))
        marks, acked = seen.get("mark_to", 0), seen.get("acked", 0)
        words = passed, marks, acked, active
        met |= {tuple(word >> k & 1 for word in words) for k in ports}
        passed = (passed & ~acked | marks) & active
        expected = 0
        for k, own in enumerate(jobs):
            same = sum((j["active"] and j["job"] == own["job"]) << i for i, j in enumerate(jobs))
            shared = same if own["active"] else 0
            expected |= hears(k, shared, entering, leaving, passed) << k
            heard.add((expected >> k & 1, bool(leaving >> k & 1), bool(leaving)))
        if reset:
            expected = passed = 0
    assert {(1, False, True), (0, False, True), (0, True, True)} <= heard
    assert not names or len(met) == 16

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

SIZES = [GnnSwitchParams(ports=3, jobs=2), GnnSwitchParams(ports=32, jobs=16)]

test_ecn_echo = simulated(EcnEcho, SIZES, __name__, ids=lambda params: f"{params.ports}")


def some_ports(ports, chance):
    """Return a bitmap of ports, each with this chance."""
    return sum((random.random() < chance) << k for k in range(ports))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def workers_of_a_job_hear_of_all_its_ports(dut):
    bench = Bench(dut)
    params = bench.params
    ports = range(params.ports)
    dut.entering.value = dut.leaving.value = 0
    await start(dut)
    heard = set()
    for _ in range(300):
        jobs = [unpack(params.port_job, random.getrandbits(params.port_job.size)) for _ in ports]
        jobs = [each | {"job": random.randrange(params.jobs)} for each in jobs]
        entering, leaving = (some_ports(params.ports, random.choice((0, 0.05, 0.3))) for _ in "io")
        words = [pack(params.port_job, each) for each in jobs]
        dut.jobs.value = sum(word << k * params.port_job.size for k, word in enumerate(words))
        dut.entering.value, dut.leaving.value = entering, leaving
        for _ in range(EcnEcho.latency + 1):
            await bench.edge
        echo = int(dut.echo.value)
        for k, own in enumerate(jobs):
            same = sum((j["active"] and j["job"] == own["job"]) << i for i, j in enumerate(jobs))
            shared = same if own["active"] else 0
            assert echo >> k & 1 == hears(k, shared, entering, leaving), (k, jobs)
            heard.add((echo >> k & 1, bool(leaving >> k & 1), bool(leaving)))
    assert {(1, False, True), (0, False, True), (0, True, True)} <= heard

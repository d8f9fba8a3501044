"""Lets anything go wrong: the host is told which command it was, and the next one is exact."""

from dataclasses import dataclass, field, replace

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles

from hdl.common.axi import Response
from hdl.netsparse.snic_counters import BUSES
from sim.harness.coverage_runs import covers
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from sim.netsparse.builds import build_gather
from sim.netsparse.gather import FILTER_ADDRESS, Gather
from sim.netsparse.gather_in_simulator import set_up, set_up_network, snics_of, together
from sim.netsparse.golden.idx_filter import line_address
from sim.netsparse.host.snic.by_registers import RequestRefused
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.link import LINK_SETTINGS
from sim.netsparse.surroundings.node import DRAM, HOST
from sim.surroundings.axi_ram import Fault as Misdeed
from sim.workloads.partition import Partition
from tests.long import short_and_long
from tests.sim.netsparse.cases import EIGHT, job_in_simulator, run_tests

ROWS, WORDS, IDXS = 600, 17, 300  # properties of 68 bytes
SIZE = 4 * WORDS
FAR_ROWS = 3 * 8 * EIGHT.filter_cache_bytes  # node 1 has three lines for every two of the cache
CLIENTS, SERVERS = 2, 2
WATCHDOG = 3000
FAILING, OTHER = 0, 1  # nodes
AWAY = LeafSpine().link_of(FAILING)
HOME = AWAY + 1
BAD = IDXS // 2  # where the idx that is no column stands
FAR_IDXS = FAR_ROWS // 2 + np.arange(IDXS) % 3 * (FAR_ROWS // 6) + 2 * (np.arange(IDXS) // 3)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong, and how it must be reported."""

    cause: str
    host: dict = field(default_factory=dict)
    dram: dict = field(default_factory=dict)
    link: dict = field(default_factory=dict)
    faulty_link: int = 0
    fail_index: int = 0
    registers: dict = field(default_factory=dict)  # by node
    request: dict = field(default_factory=dict)  # what differs in the requests of FAILING
    second: dict = field(default_factory=dict)  # what differs in those of its second client
    beyond: bool = False  # an idx that is no column
    far: bool = False  # more lines of the filter are asked for than its cache holds
    alone: bool = False  # OTHER asks for nothing at first
    bus: str = ""  # of FAILING, that breaks
    silent: bool = False  # because it does not answer
    others: frozenset = frozenset()  # how requests of OTHER may end beside DONE
    counts: dict = field(default_factory=dict)  # of FAILING, exactly
    other_counts: dict = field(default_factory=dict)  # of OTHER, at least


def gather_of(rng, beyond=False, far=False):
    """Draw random idxs; those of FAILING may hold one that is no column."""
    rows = FAR_ROWS if far else ROWS
    partition = Partition.blocks(rows, 2)
    properties = rng.integers(0, 1 << 32, (rows, WORDS), dtype=np.uint32)
    idxs = [[[rng.integers(0, rows, IDXS)] for _ in range(CLIENTS)] for _ in range(2)]
    if far:  # of one set, one line after the other, so that each leaves and is read again
        idxs[FAILING] = [[FAR_IDXS + k] for k in range(CLIENTS)]
    idxs[FAILING][0][0][BAD] = rows if beyond else idxs[FAILING][0][0][0]
    return Gather(partition=partition, properties=properties, idxs=idxs, servers=SERVERS)


def beat(address):
    return address // 64


def fails(kind, address, response=Response.DECERR, fault=Misdeed.ERROR):
    failing = {f"fail_{kind}": 1, f"fail_{kind}_beat": beat(address)}
    return failing | {"fail_response": response, "fault": fault}


def broken_buses(idx_address, remote):
    """Return memories that answer against AXI's rules, or not at all, by name."""
    host, dram = 2 * FAILING + HOST, 2 * FAILING + DRAM
    wait = {FAILING: {"memory_timeout": 400}}
    # What OTHER asks of the properties of FAILING fails with the bus that they are read by.
    common = {"registers": wait, "others": frozenset(["REMOTE"])}
    read = {"cause": "IDX_READ", "fail_index": host, "bus": "host_read"} | common
    write = {"cause": "PROPERTY_WRITE", "fail_index": host, "bus": "host_write"} | common
    filter_ = {"cause": "FILTER", "fail_index": dram, "bus": "dram"} | common
    mute = fails("read", idx_address, fault=Misdeed.MUTE)
    filter_read = fails("read", line_address(FAR_IDXS[0], FILTER_ADDRESS), fault=Misdeed.MUTE)
    filter_write = fails("write", FILTER_ADDRESS, fault=Misdeed.DEAF)
    late = {"cause": "WATCHDOG", "registers": {FAILING: {"memory_timeout": 2 * WATCHDOG}}}
    return {
        "idx read LAST": Fault(host=fails("read", idx_address, fault=Misdeed.LAST), **read),
        "idx read MUTE": Fault(host=mute, silent=True, **read),
        "property write DEAF": Fault(
            host=fails("write", remote, fault=Misdeed.DEAF), silent=True, **write
        ),
        "filter read MUTE": Fault(dram=filter_read, silent=True, far=True, **filter_),
        "filter write DEAF": Fault(dram=filter_write, silent=True, **filter_),
        # A unit gives up before the bus is: it is cancelled, and the host is told all the same.
        "idx read MUTE for longer than a request": Fault(host=mute, silent=True, **read | late),
    }


def faults(gather):
    """Return all of them by name."""
    idx_address = gather.idx_address + 256
    first = int(gather.flat(FAILING)[gather.flat(FAILING) >= ROWS // 2][0])
    remote = gather.property_address + first * SIZE
    result = {
        "idx read": Fault(
            cause="IDX_READ", host=fails("read", idx_address), fail_index=2 * FAILING + HOST
        ),
        "property write": Fault(
            cause="PROPERTY_WRITE", host=fails("write", remote), fail_index=2 * FAILING + HOST
        ),
        "property read": Fault(
            cause="REMOTE",
            host=fails("read", remote),
            fail_index=2 * OTHER + HOST,
            other_counts={"read_error": 1},
        ),
        "filter read": Fault(
            cause="FILTER",
            dram=fails("read", line_address(FAR_IDXS[0], FILTER_ADDRESS)),
            far=True,
            fail_index=2 * FAILING + DRAM,
        ),
        "filter write": Fault(
            cause="FILTER", dram=fails("write", FILTER_ADDRESS), fail_index=2 * FAILING + DRAM
        ),
    }
    result |= broken_buses(idx_address, remote)
    result |= {
        "dropped read": Fault(
            cause="WATCHDOG", link={"reads": {"drop": 1, "drop_at": 1}}, faulty_link=AWAY
        ),
        "malformed response, and one for no unit": Fault(
            cause="WATCHDOG",
            link={"responses": {"corrupt": 1, "corrupt_at": 1, "stray": 1, "stray_at": 2}},
            faulty_link=HOME,
        ),
        "malformed read": Fault(
            cause="WATCHDOG", link={"reads": {"corrupt": 1, "corrupt_at": 0}}, faulty_link=AWAY
        ),
        "idx beyond the matrix": Fault(cause="RANGE", beyond=True),
        "out of bounds": Fault(
            cause="REMOTE",
            registers={OTHER: {"end_low": ROWS // 2 + 10}},
            alone=True,
            other_counts={"out_of_bounds": 1},
        ),
        "another length": Fault(
            cause="REMOTE",
            registers={OTHER: {"served_bytes": SIZE + 4}},
            other_counts={"out_of_bounds": 1},
        ),
        "served address that is not aligned": Fault(
            cause="REMOTE",
            registers={OTHER: {"served_address_low": gather.property_address + 2}},
            other_counts={"out_of_bounds": 1},
        ),
        "filter address that is not aligned": Fault(
            cause="COMMAND",
            registers={FAILING: {"filter_address_low": FILTER_ADDRESS + 8, "clear_filter": 1}},
            counts={"consumed": 0},
        ),
        "another array without a clearing": Fault(
            cause="ARRAY",
            second={"property_address": gather.property_address + 4 * SIZE},
            counts={"consumed": IDXS, "failed_array": 1},
        ),
        "array that is not aligned": Fault(
            cause="COMMAND", request={"idx_address": 2}, counts={"consumed": 0}
        ),
    }
    return result


NAMES = list(faults(gather_of(np.random.default_rng(0))))


# One of each bus, and what takes a network; the causes of one unit alone are in its own test.
SHORT = [
    "property read",
    "property write DEAF",
    "filter read MUTE",
    "malformed response, and one for no unit",
    "idx beyond the matrix",
    "another array without a clearing",
]


@pytest.mark.parametrize("name", short_and_long(NAMES, SHORT))
def test_fault(tmp_path, rng, name):
    state = rng.bit_generator.state
    fault = faults(gather_of(rng))[name]
    rng.bit_generator.state = state
    wrong = gather_of(rng, fault.beyond, fault.far)
    rng.bit_generator.state = state
    gather = gather_of(rng, far=fault.far)
    built = build_gather(EIGHT, 2, coverage=covers())
    run_tests(__name__, *built, tmp_path, (gather, fault), wrong)
    for node, golden in enumerate(wrong.golden()):
        result = (tmp_path / f"dump_{2 * node + HOST}.bin").read_bytes()
        assert result[: len(golden)] == golden, f"host memory of node {node}"


async def node_totals(driver):
    units = [await driver.unit_counters(k) for k in range(driver.params.units)]
    return {name: sum(unit[name] for unit in units) for name in units[0]}


def around_bad(request):
    """Split the request at the idx that is no column, into what is before it and after it."""
    behind = request.idx_address + 4 * (BAD + 1)
    rest = {"idx_address": behind, "count": request.count - BAD - 1}
    return [replace(request, count=BAD), replace(request, tag=CLIENTS, **rest)]


def altered(requests, changes, second, watchdog):
    return [
        replace(item, **{"watchdog": watchdog} | changes | (second if item.unit else {}))
        for item in requests
    ]


@cocotb.test(timeout_time=500, timeout_unit="us")
async def fails_and_recovers(dut):
    gather, fault = job_in_simulator()
    params = params_in_simulator(ClusterParams)

    def surround(fault=None):
        host, dram, link = (fault.host, fault.dram, fault.link) if fault else ({}, {}, {})
        ram = {"read_latency": 30, "write_latency": 20}
        dut.host.value = pack(params.host.settings, ram | host)
        dut.dram.value = pack(params.dram.settings, ram | dram)
        dut.link.value = pack(LINK_SETTINGS, {"latency": 10} | link)
        dut.faulty_link.value = fault.faulty_link if fault else 0
        dut.fail_index.value = fault.fail_index if fault else 0

    surround(fault)
    dut.dump.value = 0
    await start(dut)
    drivers = snics_of(dut, params, [None] * 2)
    job = gather.job(params.snic)
    await set_up_network(dut, params.network, job)
    for k, driver in enumerate(drivers):
        await driver.write(**fault.registers.get(k, {}))
        await set_up(driver, k, job, job.nodes[k])
        await driver.write(**fault.registers.get(k, {}))
    requests = [[item for queue in node.requests for item in queue] for node in job.nodes]

    async def run_all(changes, second, watchdog, alone=False):
        return await together(
            driver.carry_out(
                altered(
                    requests[k] if k == FAILING or not alone else [],
                    changes if k == FAILING else {},
                    second if k == FAILING else {},
                    watchdog,
                )
            )
            for k, driver in enumerate(drivers)
        )

    done = await run_all(fault.request, fault.second, WATCHDOG, fault.alone)
    causes = [{completion.cause for completion in node} for node in done]
    failed = causes[0] | causes[1] if fault.cause == "WATCHDOG" else causes[FAILING]
    assert fault.cause in failed, causes
    assert failed <= {fault.cause, "DONE"}, causes
    if fault.cause != "WATCHDOG":
        assert causes[OTHER] <= {"DONE"} | fault.others, causes
    tags = [sorted(completion.tag for completion in node) for node in done]
    everyone = list(range(CLIENTS))
    assert tags == [everyone, [] if fault.alone else everyone], "one completion a request"
    totals = [await node_totals(driver) for driver in drivers]
    for each in totals:
        parts = ("coalesced", "filtered", "local", "rejected", "prs")
        assert each["consumed"] == sum(each[name] for name in parts), each
    for name, count in fault.counts.items():
        assert totals[FAILING][name] == count, name
    for name, count in fault.other_counts.items():
        assert totals[OTHER][name] >= count, name
    wrong = sum(totals[FAILING][f"failed_{cause.lower()}"] for cause in failed - {"DONE"})
    assert wrong >= 1 or fault.cause == "WATCHDOG"
    if "corrupt" in str(fault.link):
        drops = [await driver.counters() for driver in drivers]
        assert sum(d["reads_dropped_length"] + d["responses_dropped_length"] for d in drops) == 1
        assert [d["lost_responses"] for d in drops] == ["stray" in str(fault.link), 0]

    for name in BUSES:
        is_broken = name == fault.bus
        assert await drivers[FAILING].read(f"{name}_broken") == is_broken, name
        assert await drivers[FAILING].read(f"{name}_silent") == (is_broken and fault.silent), name
    surround()
    await ClockCycles(dut.clk, 1000)  # what was under way comes late
    if fault.bus:
        assert not await drivers[FAILING].read(f"{fault.bus}_owes")
        assert (await drivers[FAILING].counters())[f"{fault.bus}_dropped"] > 0
    for k, driver in enumerate(drivers):
        await driver.write(revive_buses=1)
        assert not [name for name in BUSES if await driver.read(f"{name}_broken")]
        await driver.rest(servers=True)
        await set_up(driver, k, job, job.nodes[k])
    if fault.beyond:
        requests[FAILING] = [*around_bad(requests[FAILING][0]), *requests[FAILING][1:]]
    for node in await run_all({}, {}, 100_000):
        assert {completion.cause for completion in node} == {"DONE"}
    for driver in drivers:
        await driver.rest(servers=True)
        assert not (await node_totals(driver))["stale"]
        with pytest.raises(RequestRefused):
            await driver.submit([replace(requests[0][0], unit=params.snic.units - 1)])
    dut.dump.value = 1
    await ClockCycles(dut.clk, 4)

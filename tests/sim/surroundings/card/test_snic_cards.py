"""Runs two whole cards with SNICs, which gather between the memories of their hosts."""

import os
from dataclasses import replace
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import Timer
from scipy.sparse import csr_array, lil_array

from gen.base.settings import make_params
from gen.designs.catalogue import find_design
from gen.software.netsparse_snic import software
from hdl.netsparse.rig.params import Cause
from hdl.netsparse.rig.unit import RigUnit
from hdl.netsparse.snic import Snic
from sim.netsparse.card import CardSnic
from sim.netsparse.golden.gather import host_memory_before
from sim.surroundings.axi_ram import dump_file, ram_file
from sim.surroundings.card.cards import CardsParams, simulate_cards
from sim.surroundings.card.host import switch_on
from sim.surroundings.card.host_device import HostDevice
from tests.gen.software.selftests import SelfTest
from tests.sim.netsparse.cases import make_gather

SNIC = make_params(
    find_design("netsparse-snic").params_class,
    find_design("netsparse-snic").presets["tiny"] | {"address_bits": 40},
)
NODES = 2
CARDS = CardsParams(cards=(("snic", SNIC),) * NODES, fibres=(((0, 0), (1, 0)),))
FOLDER = "INGATHER_CARDS"
LINE_BYTES = 64
LINE_IDXS = 8 * LINE_BYTES  #: of which a line of the idx filter knows


def small_gather():
    """Gather some hundred idxs; each node has a unit that asks and a unit that serves.

    The idxs lie in more lines of the idx filter than its cache holds, two in each, and come twice:
    the second time, what was written to the SNIC's memory says that they are there.
    """
    rng = np.random.default_rng(1)
    lines = 3 * SNIC.filter_cache_bytes // LINE_BYTES
    rows = lines * LINE_IDXS
    matrix = lil_array((NODES * rows, NODES * rows))
    starts = np.arange(lines) * LINE_IDXS
    for node in range(NODES):
        low, high = rng.integers(LINE_IDXS // 2, size=(2, lines)) + starts
        for row, columns in enumerate((low, high + LINE_IDXS // 2, [*low, *high + LINE_IDXS // 2])):
            matrix[node * rows + row, (1 - node) * rows + np.sort(columns)] = 1
    return make_gather(rng, csr_array(matrix), NODES, 16, 1, 1, property_address=36)


def test_gather(tmp_path):
    gather = small_gather()
    plusargs = []
    for node in range(NODES):
        before = host_memory_before(gather.properties, gather.partition, node)
        image = tmp_path / f"ram_{node}"
        image.write_bytes(gather.image(node, before))
        plusargs += [ram_file(node + 1, image), dump_file(node + 1, tmp_path / f"dump_{node}")]
    blocks = [Snic(SNIC), RigUnit(SNIC.rig)]
    simulate_cards(CARDS, blocks, __name__, plusargs=plusargs, env={FOLDER: str(tmp_path)})


async def set_up(snic, node, gather):
    job = gather.job(SNIC).nodes[node]
    await snic.set_partition(node, gather.partition.boundaries)
    await snic.write(server_units=job.server_units, served_bytes=job.served_bytes)
    await snic.write_wide(
        served_address=snic.base + job.served_address, filter_address=job.filter_address
    )
    await snic.clear_filter()
    await snic.board.write(interrupt_enable=1)
    return [
        [
            replace(
                request,
                idx_address=snic.base + request.idx_address,
                property_address=snic.base + request.property_address,
            )
            for request in queue
        ]
        for queue in job.requests
    ]


@cocotb.test(timeout_time=400, timeout_unit="us")
async def each_card_gathers_from_the_other(dut):
    gather = small_gather()
    cards = await switch_on(dut)
    snics = [CardSnic(card, SNIC) for card in cards]
    requests = []
    for node, snic in enumerate(snics):
        assert await snic.board.read("links")
        assert await snic.board.read("memory_ready")
        requests.append(await set_up(snic, node, gather))
    await Timer(500, "ns")
    assert [snic.pcie.messages for snic in snics] == [0, 0], "interrupts without a completion"
    runs = [
        cocotb.start_soon(snic.run(queues, None))
        for snic, queues in zip(snics, requests, strict=True)
    ]
    for node, running in enumerate(runs):
        done = await running
        assert [completion.cause for completion in done] == [Cause.DONE] * len(done)
        assert sorted(c.tag for c in done) == [r.tag for queue in requests[node] for r in queue]
        assert snics[node].pcie.messages
    folder = Path(os.environ[FOLDER])
    for node, (snic, card) in enumerate(zip(snics, cards, strict=True)):
        await snic.at_rest()
        units = [await snic.unit_counters(k) for k in range(SNIC.units)]
        expected = gather.expected(node)
        assert sum(unit["prs"] for unit in units) == expected.distinct
        card.pcie.ip.dump.value = 1
        await Timer(50, "ns")
        host = card.pcie.ip
        assert (int(host.missing.value), int(host.lost.value)) == (0, 0)
        assert int(card.memory.ip.lateral.value) == 0
        found = (folder / f"dump_{node}").read_bytes()
        assert found[: len(gather.golden()[node])] == gather.golden()[node]
        for event in ("dropped", "broken", "foreign"):
            assert await snic.board.read(f"{event}_0") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_card_tests_what_needs_no_host_memory(dut):
    """Its checks pass on a card that is right; each tells what is wrong with one that is not."""
    cards = await switch_on(dut)
    checks = [part for name in ("registers", "counters", "links") for part in ("--only", name)]
    await SelfTest(software(SNIC), HostDevice(CardSnic(cards[0], SNIC).axil), *checks).on_rtl()

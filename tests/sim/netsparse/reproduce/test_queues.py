"""Compares the memory of concatenation with that of the Verilog."""

import re

import pytest

from gen.base.emission.emit import emit
from gen.base.emission.memories import Bits
from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.rig.destination_solver import DestinationSolver
from hdl.netsparse.switch.routing_table import RoutingTable
from sim.harness.verilator import emission_of
from sim.netsparse.reproduce import queues
from sim.netsparse.surroundings.cluster_system import ClusterSystem
from tests.sim.netsparse.cases import CLUSTER

ARRAY = re.compile(r"^.*\breg (?:\[(\d+):0\] )?\S+ \[0:(\d+)\];$", re.MULTILINE)


def bits(verilog):
    """Return the bits of all arrays that a Verilog module declares."""
    return sum((int(high or 0) + 1) * (int(last) + 1) for high, last in ARRAY.findall(verilog))


@pytest.mark.parametrize(("nodes", "pool"), [(4, 64), (60, 0)])
def test_a_concatenator_has_the_arrays_of_its_verilog(nodes, pool):
    params = ConcatenatorParams(payload=True, nodes=nodes, pool=pool, mtu=600, most_delay=15)
    result = queues.stored([(Concatenator(params), 3)])
    declared = 3 * bits(emit(Concatenator(params)).verilog)
    assert sum(each.memory for each in result.values()) == declared
    assert result["lines"].memory == 3 * params.lines * 1024
    assert bool(result["destination CAM"].registers) == params.virtual


def test_parts_are_all_of_a_cluster_that_know_its_nodes():
    """Number and bits are those in the Verilog of all SNICs, ToR switches and spines."""
    kinds = (Concatenator, DestinationSolver, RoutingTable)
    emission = emission_of(ClusterSystem(CLUSTER))
    counts = emission.counts()
    network = CLUSTER.network
    parts = [
        *(part for _ in range(CLUSTER.nodes) for part in queues.parts_of_snic(CLUSTER.snic)),
        *(
            part
            for switch in range(network.topology.switches)
            for part in queues.parts_of_switch(network.of(switch))
        ),
    ]
    for kind in kinds:
        times = sum(counts[name] for name, item in emission.modules.items() if item.kind is kind)
        assert times == sum(count for part, count in parts if type(part) is kind), kind
    for kind in kinds[1:]:  # the others' memories are in modules below them
        declared = sum(
            counts[name] * bits(item.verilog)
            for name, item in emission.modules.items()
            if item.kind is kind
        )
        result = queues.stored([part for part in parts if type(part[0]) is kind])
        assert declared == sum(each.memory for each in result.values()) > 0


def memory(name, form, nodes, kib):
    columns = dict.fromkeys(queues.PARTS, Bits())
    return queues.Memory(
        queues.Design(name, form, nodes), columns | {"lines": Bits(memory=kib * 8192)}
    )


@pytest.mark.parametrize(
    ("full", "virtual", "broken"),
    [
        ((400, 3200), (60, 60), []),
        ((513, 4104), (60, 60), ["512 KB"]),
        ((400, 3600), (60, 60), ["as the nodes do"]),
        ((400, 3200), (60, 61), ["independent"]),
    ],
)
def test_claims(full, virtual, broken):
    result = [
        memory(name, form, nodes, size * (8 if name == "switch" else 1))
        for name in ("SNIC", "switch")
        for form, sizes in (("full", full), ("virtual", virtual))
        for nodes, size in zip((128, 1024), sizes, strict=True)
    ]
    failed = [claim.text for claim in queues.claims(result) if not claim.holds]
    assert len(failed) == 2 * len(broken)
    assert all(broken[0] in text for text in failed)


def test_thousands_of_nodes_are_legal_in_both_forms():
    assert queues.max_nodes("full") >= 4096
    assert queues.max_nodes("virtual") == 65536

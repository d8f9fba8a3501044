"""Builds the simulators of clusters: of a whole one, or of each kind of its nodes and switches."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gen.base.emission.emit import module_name
from hdl.common.component import Component
from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.unit import RigUnit
from hdl.netsparse.snic import Snic
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.harness.part_builds import PartBuilds, build_each
from sim.harness.verilator import Build, build, emission_of
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.surroundings.cluster_parts import (
    NodePart,
    NodePartParams,
    SwitchPart,
    SwitchPartParams,
)
from sim.netsparse.surroundings.cluster_system import ClusterParams, ClusterSystem
from sim.netsparse.surroundings.link import SharedLink
from sim.netsparse.surroundings.network import network_params
from sim.netsparse.topology import Members
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.surroundings.exchange import FUNCTIONS, MODULE
from sim.surroundings.pcie.params import HOST_ARRAY


def one_rack(snic: SnicParams, nodes: int) -> ClusterParams:
    """Describe SNICs around a switch that only forwards."""
    topology = LeafSpine(nodes_per_rack=nodes)
    return ClusterParams(
        snic=snic, network=network_params(topology, snic, NetSparseSwitchParams(pipes=0))
    )


def build_gather(snic: SnicParams, nodes: int, **options: Any) -> tuple[ClusterParams, Build]:
    """Build the simulator of :func:`one_rack`; return its parameters and the build."""
    params = one_rack(snic, nodes)
    return params, build_cluster(params, **options)


def build_cluster(params: ClusterParams, **options: Any) -> Build:
    """Build the simulator of a cluster; units, SNICs, links and ToRs are translated once each."""
    snic, network = params.snic, params.network
    blocks: list[Component] = [Snic(snic), *units_of(snic), SharedLink(network.link)]
    if network.topology.racks > 1:
        blocks.append(NetSparseSwitch(network.of(0)))
    return build(
        emission_of(ClusterSystem(params)),
        extra_sources=memories_of(snic),
        hier_blocks=[module_name(block) for block in blocks],
        **options,
    )


def units_of(snic: SnicParams) -> list[Component]:
    """Return the RIG unit, which Verilator translates once, if a SNIC has several."""
    return [RigUnit(snic.rig)] if snic.units > 1 else []


def memories_of(snic: SnicParams) -> list[Path]:
    """Return the Verilog of a node's memories."""
    return [RAM_ARRAY, HOST_ARRAY] if snic.over_pcie else [RAM_ARRAY]


def part_of(params: ClusterParams, members: Members) -> Component:
    """Return the hardware of a node or a switch with its ends of links."""
    network = params.network
    if members.nodes:
        return NodePart(NodePartParams(snic=params.snic, link=network.link))
    switch = network.of(members.switches[0])
    return SwitchPart(SwitchPartParams(switch=switch, link=network.link))


def build_part(part: Component, **options: Any) -> Build:
    """Build the simulator of a node or a switch, which serves for all that are like it.

    Only units are blocks: at the edges of each, wide values are converted in every cycle, which
    would take a part more time than what is inside.
    """
    node = isinstance(part, NodePart)
    return build(
        emission_of(part),
        extra_sources=[MODULE, *(memories_of(part.params.snic) if node else [])],
        hier_blocks=[module_name(unit) for unit in (units_of(part.params.snic) if node else [])],
        functions=FUNCTIONS,
        **options,
    )


def build_parts(params: ClusterParams, *, waves_node: int = 0, **options: Any) -> PartBuilds:
    """Build the simulators of all parts of a cluster, nodes first; like ones share one.

    If simulators can write waves, only that of ``waves_node`` does.
    """
    topology = params.network.topology
    work = partial(build_some, params, waves_node, options)
    return build_each(work, topology.cuts, len(topology.parts), waves_node)


def build_some(
    params: ClusterParams, waves_node: int, options: Mapping[str, Any], numbers: Sequence[int]
) -> list[Build]:
    """Build the simulators of parts of these numbers; like ones share one."""
    builds: dict[Any, Build] = {}
    result = []
    for number in numbers:
        members = params.network.topology.parts[number]
        part = part_of(params, members)
        waves = None if members.nodes == [waves_node] else False
        if (key := (part.params, waves)) not in builds:
            builds[key] = build_part(part, waves=waves, **options)
        result.append(builds[key])
    return result

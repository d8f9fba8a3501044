"""Tells which settings of a run have an effect beside the others."""

from dataclasses import fields

import pytest

from sim.gather.workload import GatherWorkload
from sim.mina.workload import Placement, ScheduleWorkload, Trees
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.p4sgd.training_workload import TrainingWorkload
from sim.switchgnn.gcn.workload import Adder, GcnWorkload

LINKS = "link_latency drop duplicate reorder corrupt displacement timeout"
PORTS = "background ecn processes waves_worker"
RACKS = "racks spines"
SWITCH = "switch_read_delay switch_response_delay"
MANY = {"racks": 2, "nodes": 4}


IDLE = [
    (GatherWorkload(), ""),
    (GatherWorkload(table="t"), "row_bytes"),
    (GatherWorkload(table="t", idx="i"), "row_bytes graph batch fan_outs idx_bytes repeats seed"),
    (
        SpmmWorkload(),
        f"spines spine_choice switch switch_cache switch_concatenate waves_node {SWITCH}",
    ),
    (SpmmWorkload(**MANY, model=True), "watchdog processes waves_node spine_choice"),
    (SpmmWorkload(**MANY, switch_concatenate=False), f"waves_node {SWITCH} spine_choice"),
    (SpmmWorkload(**MANY, concatenate=False), "read_delay response_delay waves_node spine_choice"),
    (TrainingWorkload(), f"features eta_period retries processes waves_worker {LINKS}"),
    (
        TrainingWorkload(data="zeros", workers=2, reorder=0.1),
        "test shuffle positive bias eta_period reference waves_worker",
    ),
    (
        GcnWorkload(adder=Adder.GOLDEN, drop=0.1),
        f"link_latency displacement timeout spines {PORTS}",
    ),
    (GcnWorkload(adder=Adder.EXACT), f"plan order open_turns {RACKS} {LINKS} {PORTS}"),
    (GcnWorkload(workers=1), f"partition adder plan order open_turns {RACKS} {LINKS} {PORTS}"),
    (ScheduleWorkload(jobs="j", trees=Trees.MIS, placement=Placement.DP), "trace count seed"),
    (ScheduleWorkload(placement=Placement.FIRST), "alpha candidates"),
]


@pytest.mark.parametrize(("workload", "idle"), IDLE)
def test_settings_without_effect_are_null(workload, idle):
    assert set(workload.idle) == set(idle.split())
    for name, value in workload.as_json().items():
        assert value == (None if name in workload.idle else getattr(workload, name)), name


@pytest.mark.parametrize(
    "kind", dict.fromkeys(type(each) for each, _ in IDLE), ids=lambda k: k.__name__
)
def test_no_number_is_infinite(kind):
    """An infinite one passes every lower limit, and no JSON has it."""
    floats = [each for each in fields(kind) if each.type in (float, float | None)]
    unlimited = [each.name for each in floats if each.metadata["most"] is None]
    assert unlimited in ([], ["eta"])  # whose limits depend on the batch

"""A switch as a subject of sweeps: its smallest, in RTL."""

from gen.catalogue import SWITCH_PRESETS, find_design
from gen.settings import make_params
from gen.sweep.subjects.switch import SwitchSubject, SwitchWorkload

PARAMS = make_params(find_design("p4sgd-switch").params_class, SWITCH_PRESETS["tiny"])


def test_a_switch_takes_a_packet_a_cycle(tmp_path):
    subject, workload = SwitchSubject(), SwitchWorkload()
    build = subject.build(subject.simulated(PARAMS, workload))
    found = subject.measure(PARAMS, workload, build, tmp_path, 250)
    assert 1 <= found["latency_cycles"] <= 8
    assert 0.9 < found["packets_per_cycle"] <= 1
    assert found["packets_per_second"] == found["packets_per_cycle"] * 250e6
    assert found.keys() <= subject.metrics().keys()

"""Runs a session of the smallest switch in RTL, and calculates that of an engine."""

from gen.designs.catalogue import find_design
from hdl.p4sgd.engine.params import EngineParams
from sim.harness.workload import Workload
from sim.p4sgd.engine_session import EngineSession
from sim.p4sgd.switch_session import SwitchSession, SwitchWorkload


def test_a_switch_takes_a_packet_a_cycle(tmp_path):
    session = SwitchSession(find_design("p4sgd-switch").params_of("tiny"), SwitchWorkload())
    build = session.build(session.hardware(session.params, session.asked))
    found = session.run(build, tmp_path, clock_mhz=250).figures
    assert 1 <= found["latency_cycles"] <= 8
    assert 0.9 < found["packets_per_cycle"] <= 1
    assert found["packets_per_second"] == found["packets_per_cycle"] * 250e6
    assert found.keys() == session.counted.keys()


def test_an_engine_takes_a_bit_of_every_lane_and_bank():
    found = EngineSession.calculate(EngineParams(banks=4, lanes=32), Workload())
    assert found == {"features_per_cycle": 128}

from hdl.p4sgd.engine.params import EngineParams
from sim.harness.workload import Workload
from sim.p4sgd.engine_session import EngineSession


def test_an_engine_takes_a_bit_of_every_lane_and_bank():
    found = EngineSession.calculate(EngineParams(banks=4, lanes=32), Workload())
    assert found == {"features_per_cycle": 128}

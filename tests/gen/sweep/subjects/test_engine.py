from gen.sweep.subjects.engine import EngineSubject, NoWorkload
from hdl.p4sgd.engine.params import EngineParams


def test_an_engine_takes_a_bit_of_every_lane_and_bank():
    found = EngineSubject().calculate(EngineParams(banks=4, lanes=32), NoWorkload(), {})
    assert found == {"features_per_cycle": 128}

"""Runs the sample's tests on a simulator that is built apart from its runs."""

from sim.harness.verilator import Simulation, build, emission_of, run
from tests.sim.mutation.sample import Tally, TallyParams


def test_tally():
    params = TallyParams()
    built = build(emission_of(Tally(params)), registers=["total"])
    module = "tests.sim.mutation.weak_test"
    run(built, Simulation(test_module=module, params=params, component=Tally))
    run(built, Simulation(test_module=module, params=params))

import pytest

from gen.base.emission.emit import emit
from gen.synth.synthesis import synthesise
from sim.harness.cache import cached_folder
from tests.gen.synth.circuits import Circuits, NoParams


@pytest.fixture(scope="session")
def emission():
    return emit(Circuits(NoParams()))


@pytest.fixture(scope="session")
def synthesis(emission):
    return synthesise(emission, cached_folder)

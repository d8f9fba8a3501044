"""Stands for a worker's card."""

from gen.software.p4sgd_worker import software
from sim.p4sgd.host.build import Build
from tests.gen.software.fake_card import FakeCard


class Card(FakeCard):
    """A card with a worker that says what it is told to say at the end of each run."""

    def __init__(self, params):
        super().__init__(software(params), start=self.end_a_run)
        self.build = Build(**self.software.build)
        self.end = {"done": 1}

    def end_a_run(self):
        self.say(**self.end)

    @property
    def starts(self):
        return self.log.count("start")

"""Checks the self-test of an endpoint's card on a stand-in whose MAC receives what it sends."""

import pytest

from gen.designs.catalogue import find_design
from gen.software.switchgnn_endpoint import software
from hdl.switchgnn.endpoint.bundles import State
from sim.switchgnn.host import selftest
from tests.gen.software.fake_card import FakeCard
from tests.gen.software.selftests import SelfTest

SENT = 1004


class Card(FakeCard):
    """Stands in for a card that sends all frames at once; ``lost`` of them do not come back."""

    def __init__(self, lost=0, linked=1):
        self.lost, self.linked, self.counts = lost, linked, {}
        built = software(find_design("switchgnn-endpoint").params_of("tiny"))
        super().__init__(built, start=self.send, stop=lambda: self.say(state=State.IDLE.value))

    def send(self):
        self.say(state=State.RUNNING.value)
        self.counts = {"sent_feature": SENT - 4, "sent_done": 4, "taken_foreign": SENT - self.lost}

    def hear(self, address, word):
        super().hear(address, word)
        if address == self.module.FIELDS["counter"].address:
            name = self.software.build["counters"][self.heard("counter")]
            self.say(count=self.counts.get(name, 0))


def main(card, *arguments):
    return SelfTest(card.software, card, "--bytes", "4096", seconds=0.05)(*arguments)


def test_a_card_that_is_right_passes():
    card = Card()
    status, lines = main(card)
    assert status == 0
    assert lines[0] == "memory: 4,096 bytes are right"
    assert lines[2:] == [f"mac: all of {SENT} frames came back", "PASS: memory, dma, mac"]
    assert (card.loops, card.log[-1]) == ([2, 0], "stop")


@pytest.fixture(autouse=True)
def few_looks(monkeypatch):
    monkeypatch.setattr(selftest, "LOOKS", 20)


@pytest.mark.parametrize(
    ("faults", "reported"),
    [
        ({"lost": 3}, f"FAIL: mac: {SENT - 3} of {SENT} frames came back"),
        (
            {"linked": 0},
            "FAIL: mac: the wait for the link of cage 0 to itself has not ended within 0.05 s",
        ),
    ],
)
def test_what_is_wrong_is_reported(faults, reported):
    card = Card(**faults)
    assert main(card, "--only", "mac") == (1, [reported])
    assert card.loops == [2, 0]

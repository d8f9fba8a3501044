from types import SimpleNamespace

import pytest

from sim.functional.bursts import Bursts


@pytest.mark.parametrize(
    ("address", "length", "hit"),
    [
        (0x0F40, 0, {"one beat"}),
        (0x0F80, 1, {"several beats", "ends at 4 KiB"}),
        (0x0FC0, 0, {"one beat", "ends at 4 KiB"}),
        (0x0FC4, 0, {"one beat", "ends at 4 KiB"}),  # the beat that holds it
        (0x1000, 62, {"several beats"}),
    ],
)
def test_bursts_of_64_bytes_a_beat(address, length, hit):
    ports = (SimpleNamespace(value=value) for value in (address, length, 6))
    assert Bursts(*ports).hit() == hit

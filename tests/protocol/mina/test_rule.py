"""MINA's agreement is safe and live, whatever is lost, doubled, late or out of order."""

import pytest

from tests.long import short_and_long
from tests.protocol.explore import explore
from tests.protocol.mina.systems import SHORT, SYSTEMS


@pytest.mark.parametrize("name", short_and_long(SYSTEMS, SHORT))
def test_safe_and_live(name):
    found = explore(SYSTEMS[name].system())
    print(f"{name}: {found}")
    assert found.fault == "", str(found)

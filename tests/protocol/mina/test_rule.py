"""MINA's agreement is safe and live, whatever is lost, doubled, late or out of order."""

import pytest

from tests.long import short_and_long
from tests.protocol.explore import check
from tests.protocol.mina.systems import SHORT, SYSTEMS


@pytest.mark.parametrize("name", short_and_long(SYSTEMS, SHORT))
def test_safe_and_live(name):
    check(name, SYSTEMS[name].system())

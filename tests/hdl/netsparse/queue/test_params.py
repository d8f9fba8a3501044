"""Compares the layouts of rings with the bytes that a host's program sees."""

import random

from hdl.common.rings import DESCRIPTOR_BYTES
from hdl.netsparse.queue.params import DESCRIPTOR, ENTRY, ENTRY_BYTES, NO_UNIT
from hdl.netsparse.rig.params import Cause
from sim.harness.payloads import pack
from sim.netsparse.golden.rings import pack_descriptor, unpack_entry


def test_a_descriptor_is_what_the_bytes_say():
    widths = {name: field.width for name, field in DESCRIPTOR}
    for _ in range(100):
        fields = {name: random.getrandbits(width) for name, width in widths.items()}
        del fields["reserved"]
        result = pack(DESCRIPTOR, fields).to_bytes(DESCRIPTOR_BYTES, "little")
        assert result == pack_descriptor(**fields)


def test_an_entry_is_what_the_bytes_say():
    widths = {name: field.width for name, field in ENTRY}
    for _ in range(100):
        fields = {name: random.getrandbits(width) for name, width in widths.items()}
        entry = unpack_entry(pack(ENTRY, fields).to_bytes(ENTRY_BYTES, "little"))
        del fields["reserved"]
        assert vars(entry) == fields


def test_all_units_and_causes_have_room():
    assert 1 << ENTRY["unit"].width > NO_UNIT
    assert 1 << ENTRY["cause"].width > max(cause.value for cause in Cause)

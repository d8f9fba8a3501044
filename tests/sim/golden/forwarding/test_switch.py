import random

from sim.golden.forwarding.switch import ForwardingSwitch, Header, Rules, marked
from tests.hdl.switch.forwarding.bench import BROADCAST, frame, host


def test_marked_headers_have_right_checksums():
    for ecn in range(4):
        for tag in (None, 5):
            for _ in range(500):
                octets = frame(host(1), host(0), tos=random.randrange(64) << 2 | ecn, tag=tag)
                new = marked(octets)
                at = Header(new).ip_at
                total = sum(
                    int.from_bytes(new[at + k : at + k + 2], "big") for k in range(0, 20, 2)
                )
                assert total % 0xFFFF == 0
                assert new[at + 1] & 3 == (3 if ecn else 0)
    octets = frame(host(1), host(0))
    assert marked(octets) == octets


def test_a_group_is_apart():
    """A packet stays in its group, though another group knows the address."""
    rules = Rules(ports=4, classes=2, max_bytes=1518, vlans={7: 1})
    rules.groups = [{0, 1}, {0}, {1}, {0, 1}]
    switch = ForwardingSwitch(rules, 16)
    assert switch.receive(0, frame(BROADCAST, host(0))) == (0, [1, 3])
    assert switch.receive(3, frame(host(0), host(3))) == (0, [0])
    assert switch.receive(3, frame(host(0), host(3), tag=7)) == (0, [0, 2])
    assert switch.receive(1, frame(host(0), host(1), tag=7)) == (0, [])
    assert switch.receive(2, frame(host(0), host(2), tag=8)) == (0, [])
    assert switch.counts[1]["in_no_group"] == switch.counts[2]["in_no_group"] == 1

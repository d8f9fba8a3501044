from enum import IntEnum
from types import SimpleNamespace

from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw
from sim.functional.groups import groups
from sim.functional.register_bins import CHANNELS, RegisterWatcher
from tests.sim.functional.bench import hits


class Cause(IntEnum):
    NONE = 0
    LOST = 1


MAP = RegisterMap(
    "some",
    (
        Register("control", "", rw("size", 8, ""), pulse("start", "")),
        Register("status", "", ro("busy", 1, ""), ro("cause", 2, "", enum=names_of(Cause))),
        Register("count", "", ro("count", 48, "")),
    ),
)


class Bus:
    """An AXI4-Lite bus on which words move."""

    def __init__(self):
        for channel, name in CHANNELS.items():
            for end in ("valid", "ready", name):
                setattr(self, f"axil_{channel}{end}", SimpleNamespace(value=0))

    def move(self, watcher, **values):
        for channel, value in values.items():
            getattr(self, f"axil_{channel}valid").value = 1
            getattr(self, f"axil_{channel}ready").value = 1
            getattr(self, f"axil_{channel}{CHANNELS[channel]}").value = value
        watcher.look()
        for channel in values:
            getattr(self, f"axil_{channel}valid").value = 0


def test_fields_as_they_are_written_and_read():
    bus = Bus()
    watcher = RegisterWatcher(bus, "tests.Some", "axil", MAP)
    bus.move(watcher, w=1 << 8)
    assert not hits("tests.Some axil writes")
    bus.move(watcher, aw=0)
    assert hits("tests.Some axil writes") == {"start not zero"}
    bus.move(watcher, ar=4)
    bus.move(watcher, ar=8)
    bus.move(watcher, r=1 << 1)
    assert hits("tests.Some axil reads") == {"cause LOST"}
    bus.move(watcher, r=0)
    bus.move(watcher, ar=12, r=1 << 20)  # the high word, of which sixteen bits are used
    assert hits("tests.Some axil reads") == {"cause LOST"}
    bus.move(watcher, ar=12, r=1)
    bus.move(watcher, ar=100, r=5)  # beyond the map
    assert hits("tests.Some axil reads") == {"cause LOST", "count not zero"}
    names = groups["tests.Some axil reads"]
    assert list(names) == ["busy not zero", "cause NONE", "cause LOST", "count not zero"]

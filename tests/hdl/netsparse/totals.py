"""Sums up events that a component counts."""

from collections import Counter
from collections.abc import Mapping

from sim.harness.payloads import unpack
from sim.harness.records import Recorder


class Totals(Mapping):
    """Sums up each event that a port of this layout shows, since it was made or cleared."""

    def __init__(self, dut, layout, name="events"):
        self.layout, self.name = layout, name
        self.shown = Recorder(dut, name, {name: None})
        self.clear()

    def clear(self):
        """Begin anew."""
        self.shown.beats.clear()
        self.sums = dict.fromkeys(dict(self.layout), 0)

    def summed(self):
        """Return the sums, this edge included."""
        shown = self.shown.beats
        for bits, cycles in Counter(one[self.name] for one in list.__iter__(shown)).items():
            for event, count in unpack(self.layout, bits).items():
                self.sums[event] += cycles * count
        shown.clear()
        return self.sums

    def __getitem__(self, event):
        return self.summed()[event]

    def __iter__(self):
        return iter(self.sums)

    def __len__(self):
        return len(self.sums)

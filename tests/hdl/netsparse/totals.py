"""Sums up events that a component counts."""

from collections.abc import Mapping

from sim.harness.records import Recorder


class Totals(Mapping):
    """Sums up each event that a port of this layout shows, since it was made or cleared."""

    def __init__(self, dut, layout, name="events"):
        self.name, self.shown = name, Recorder(dut, name, {name: layout})
        self.sums = dict.fromkeys(dict(layout), 0)

    def clear(self):
        """Begin anew."""
        self.shown.take()
        self.sums = dict.fromkeys(self.sums, 0)

    def __getitem__(self, event):
        for one in self.shown.take().values():
            for name, count in one[self.name].items():
                self.sums[name] += count
        return self.sums[event]

    def __iter__(self):
        return iter(self.sums)

    def __len__(self):
        return len(self.sums)

"""Checks that an endpoint writes sums and copies where they belong, and nothing else."""

from sim.switchgnn.endpoint_program import turns_of
from sim.switchgnn.host.turns import Layout

FILL = b"\xa5"  #: what memory holds that nobody has written
BEHIND = 4096  #: bytes behind all that a job uses


class Guard:
    """Knows the memory in which the features and sums of a worker's job are."""

    def __init__(self, worker, setup):
        self.memory, self.build = worker.memory, worker.side.description
        self.ends = Layout(self.build, turns_of(setup)).ends

    def places(self):
        """Yield name, DMA's address and bytes of each part."""
        for name in ("features", "sums"):
            region = self.build.region(name)
            yield name, region.dma, self.ends[name] - region.address + BEHIND

    async def fill(self):
        """Fill all of it, before the job is laid out."""
        for _, address, size in self.places():
            await self.memory.write_memory(address, FILL * size)

    async def begin(self):
        """Note what it holds, before the job is started."""
        self.before = await self.read()

    async def read(self):
        parts = {}
        for name, address, size in self.places():
            parts[name] = bytearray(await self.memory.read_memory(address, size))
        return parts

    async def check(self, layout, sums, copies):
        """Nothing has changed but ``sums`` and ``copies``."""
        after, base = await self.read(), self.build.region("sums").address
        for table, rows in (("sums", sums), ("copies", copies)):
            for (turn, item), row in rows.items():
                at = getattr(layout.placed[turn], table) + item * row.nbytes - base
                for memory in (self.before, after):
                    memory["sums"][at : at + row.nbytes] = FILL * row.nbytes
        assert after == self.before, "something else was written"

"""Models walks over the tiles of short runs: their chunks, micro-batches and planes."""

import random

from hdl.p4sgd.engine.chunk_walk import PAUSE
from hdl.p4sgd.engine.params import SCHEDULE
from sim.harness.payloads import pack


def tiles_of(settings):
    """Return the tiles of a run: Algorithm 1 written out as loops over whole tiles."""
    batch, epoch = settings["batch_micro_batches"], settings["epoch_micro_batches"]
    whole, tiles = 1 << settings["tile"], []
    for left in range(settings["epochs"] - 1, -1, -1):
        for start in range(0, epoch, whole):
            end = min(start + whole, epoch)
            final = end == epoch and not left
            tile = {"first": start % batch == 0, "last": end % batch == 0 or end == epoch}
            tiles.append(tile | {"final": final, "size": end - start})
    return tiles


def long_lengths():
    """Yield lengths of runs in which only one bit of the one named says that they go on."""
    for name, others in (
        ("batch_micro_batches", {"epoch_micro_batches": (1 << 32) - 1, "epochs": 1}),
        ("epoch_micro_batches", {"batch_micro_batches": (1 << 16) - 1, "epochs": 1}),
        ("epochs", {"batch_micro_batches": 1, "epoch_micro_batches": 1}),
    ):
        for bit in range(SCHEDULE[name].width):
            yield name, others | {name: 1 + (1 << bit)}


class WalkModel:
    """Goes over the chunks of each tile; each run begins with a reset, or behind another run."""

    def __init__(self, params):
        self.params, self.shape, self.tiles = params, params.walk_settings, []
        self.reset()

    def reset(self):
        self.at, self.chunk, self.wait, self.odd = None, 0, 0, 0

    def preset(self):
        whole = 1 << random.randrange(self.params.max_tile.bit_length())
        batch = whole * random.randint(1, 3)
        most = self.params.chunks
        self.settings = {
            "tile": whole.bit_length() - 1,
            "batch_micro_batches": batch,
            "epoch_micro_batches": random.randint(1, 3 * batch),
            "epochs": random.randint(1, 3),
            "chunks": random.choice([1, min(2, most), random.randint(1, most), most]),
        }
        self.rate = random.choice((0.6, 1))
        self.tiles, self.begins = tiles_of(self.settings), 3 if self.at is None else 0
        return {"settings": pack(self.shape, self.settings)}

    @property
    def tile(self):
        """Return the tile of the next chunk, if there is one now."""
        running = self.at is not None and self.at < len(self.tiles) and not self.wait
        return self.tiles[self.at] if running else None

    def draw(self):
        self.begins += 1
        start = self.at is None and self.begins > 3 and random.random() < 0.3
        step = self.tile is not None and random.random() < self.rate
        return {"rst": int(self.begins == 1), "start": int(start), "step": int(step)}

    def outputs(self, inputs):
        shown = {"active": int(self.tile is not None), "running": int(self.at is not None)}
        if self.at is None or self.tile:
            shown["odd"] = self.odd
        if self.tile:
            ends = {"first_chunk": self.chunk == 0, "last_chunk": self.ends}
            marks = {name: self.tile[name] for name in ("first", "last", "final")}
            shown |= {"chunk": self.chunk, **ends, "tile": marks, "size": self.tile["size"]}
        return shown

    @property
    def ends(self):
        return self.chunk == self.settings["chunks"] - 1

    def step(self, inputs):
        if inputs["rst"]:
            self.reset()
        elif inputs["start"]:
            self.at, self.odd, self.wait = 0, 0, PAUSE - 1
        elif inputs["step"]:
            self.move()
        elif self.at is not None:
            self.wait = max(0, self.wait - 1)
            if self.at == len(self.tiles):
                self.at = None

    def move(self):
        """Step over a chunk."""
        self.chunk += 1
        if self.chunk == self.settings["chunks"]:
            self.odd ^= self.tile["last"]
            self.at, self.chunk, self.wait = self.at + 1, 0, PAUSE


class TileModel(WalkModel):
    """Goes over the planes of each micro-batch of a tile in each chunk."""

    def __init__(self, params):
        super().__init__(params)
        self.shape = params.tile_settings

    def reset(self):
        super().reset()
        self.plane, self.member = 0, 0

    def preset(self):
        super().preset()
        most = self.params.max_bits
        self.settings["bits"] = random.choice([1, min(2, most), random.randint(1, most)])
        return {"settings": pack(self.shape, self.settings)}

    def outputs(self, inputs):
        shown = super().outputs(inputs)
        result = {name: shown[name] for name in ("active", "running")}
        if not self.tile:
            return result
        last = {"last_plane": self.plane == self.settings["bits"] - 1}
        last["last_member"] = self.member == self.tile["size"] - 1
        first = {"first_plane": self.plane == 0, "first_member": self.member == 0}
        chunk = {name: shown[name] for name in ("chunk", "first_chunk", "last_chunk")}
        position = {"member": self.member, "second_plane": self.plane == 1, **chunk}
        return result | {"position": position | first | last, "first": self.tile["first"]}

    def move(self):
        self.plane += 1
        if self.plane == self.settings["bits"]:
            self.plane, self.member = 0, self.member + 1
            if self.member == self.tile["size"]:
                self.member = 0
                super().move()

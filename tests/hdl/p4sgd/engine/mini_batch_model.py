"""Models where mini-batches and epochs begin and end, with lengths of any bits."""

import random


def some_length(bits):
    """Draw a length of up to ``bits`` bits: few, any, or near a power of two."""
    near = (1 << random.randrange(1, bits)) + random.randrange(-1, 2)
    return random.choice((random.randint(1, 9), near, random.randrange(1, 1 << bits)))


def near_end(length, bits):
    """Draw how many have been counted: none, few less than all, any, or all with a bit flipped."""
    few = max(0, length - random.randint(1, 9))
    return random.choice(
        (0, few, random.randrange(length), length - 1 ^ 1 << random.randrange(bits))
    )


class MiniBatchModel:
    """Counts micro-batches; in each run they are few before an end, or any."""

    name = ""  #: of the part that counts them, in the component
    port = "step"

    def preset(self):
        self.batch, self.epoch = some_length(16), some_length(32)
        self.in_batch, self.in_epoch = near_end(self.batch, 16), near_end(self.epoch, 32)
        self.first = None  # whether it is a mini-batch's first is not set
        self.rate = random.choice((0.3, 0.9, 1))
        return {f"{self.name}in_batch": self.in_batch, f"{self.name}in_epoch": self.in_epoch}

    def draw(self):
        lengths = {"batch_micro_batches": self.batch, "epoch_micro_batches": self.epoch}
        step, start = random.random() < self.rate, random.random() < 0.03
        return {"lengths": lengths, self.port: int(step), "start": int(start)}

    @property
    def ends_epoch(self):
        return self.in_epoch == self.epoch - 1

    @property
    def last(self):
        return self.ends_epoch or self.in_batch == self.batch - 1

    def outputs(self, inputs):
        first = {} if self.first is None else {"first": int(self.first)}
        return {"last": int(self.last), "ends_epoch": int(self.ends_epoch), **first}

    def step(self, inputs):
        if inputs["start"]:
            self.in_batch, self.in_epoch, self.first = 0, 0, True
        elif inputs[self.port]:
            self.first, ends_epoch = self.last, self.ends_epoch
            self.in_batch = 0 if self.last else (self.in_batch + 1) % (1 << 16)
            self.in_epoch = 0 if ends_epoch else (self.in_epoch + 1) % (1 << 32)

"""Draws tables, idxs and places for work requests of a gather engine's tests."""

import random

from sim.gather.golden.rows import Table

HOST_BYTES, DEVICE_BYTES = 1 << 18, 1 << 16
TABLE, COMPLETIONS = 1 << 13, HOST_BYTES - 256  #: what lies where, in the host's memory
LARGE = 8192  #: bytes of a large row


def table(row_bytes, end=COMPLETIONS):
    """Draw a table of rows at any byte, packed or padded; those of large rows overlap."""
    stride = row_bytes + random.choice([0, 0, 1, 4, 12, 63])
    stride = stride if row_bytes < LARGE else random.randrange(1, LARGE)
    base = TABLE + random.randrange(1 << 12)
    rows = (end - base - row_bytes) // stride + 1
    return Table(base=base, rows=rows, row_bytes=row_bytes, stride=stride)


def idxs(table, count):
    """Draw idxs of a table, some of them twice, one of them beyond it."""
    idxs = [random.randrange(table.rows) for _ in range(count)]
    idxs[random.randrange(count)] = idxs[0]
    idxs[random.randrange(count)] = random.choice([table.rows, table.rows - 1])
    return idxs


def borders():
    """Draw sizes of rows beside the borders of what is requested at once, and of what a row is."""
    return random.choice([4095, 4096, 4097]), random.choice([65535, 65536])


def count(size):
    """Draw how many rows of a size are gathered at once; few if they are large."""
    return 1 if size > LARGE else random.randrange(1, 4 if size > 1000 else 30)


def place(size):
    """Draw any place in device memory that rows of ``size`` bytes in all fit."""
    return random.randrange(DEVICE_BYTES - size + 1)

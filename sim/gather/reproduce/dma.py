"""Models the way that the gather replaces: a processor gathers rows, and DMA copies them.

After "Large Graph Convolutional Network Training with GPU-Oriented Data Communication
Architecture", 4.4.1 and 5. To gather, the processor reads every row and writes it: two more passes
over host memory beside that of the copy. No row is copied before all are gathered.
"""


def gathered(link: float, memory: float, cards: int = 1) -> float:
    """Return bytes of rows a second to all ``cards``: gathered by the processor, then copied.

    ``link`` and ``memory`` are bytes a second of one card's copy and of host memory. The cards'
    copies run at the same time, as far as host memory carries them.
    """
    return 1 / (1 / min(cards * link, memory) + 2 / memory)


def copied(row_bytes: float, link: float, set_up: float) -> float:
    """Return bytes a second if each row is a copy of its own, which takes ``set_up`` seconds."""
    return row_bytes / (set_up + row_bytes / link)

"""Searches how many words a paused link still delivers: the worst that Ethernet's rules permit."""

import numpy as np

PREAMBLE, CHECKSUM, GAP, LEAST = 8, 4, 12, 60  #: bytes
WORD = 64  #: bytes of a buffer's word, which only bytes of one packet share


def words_of(size: int) -> int:
    """Return the words of a packet of ``size`` bytes, without its checksum."""
    return -(-size // WORD)


def max_words(blind_bits: int, longest: int) -> int:
    """Return the most words after the one too many, if the sender stops ``blind_bits`` later.

    The far end may send packets of any size up to ``longest`` bytes (without checksum) back to
    back, and begins none later than that; the one that it began goes on to its end. The word that
    is too many may be any of its packet's. Every choice is tried, by dynamic programming over
    the bytes of the wire.
    """
    sizes = sorted({LEAST, longest, *range(WORD + 1, longest + 1, WORD)} - {0})
    time = blind_bits // 8  # the last byte time at which a packet may begin
    never = -1 << 30
    # best[t]: most words of packets that have ended before one begins at byte t.
    best = np.full(time + 1, never)
    for start, words in starts(sizes):
        if start <= time:
            best[start] = max(best[start], words)
    steps = [(size + PREAMBLE + CHECKSUM + GAP, words_of(size)) for size in sizes]
    steps = [(step, words) for step, words in steps if step <= time]
    lengths = np.array([step for step, _ in steps])
    gains = np.array([words for _, words in steps])
    for t in range(time + 1):
        where = t - lengths
        known = where >= 0
        if known.any():
            best[t] = max(best[t], (best[where[known]] + gains[known]).max())
    return int(best.max()) + words_of(longest)


def starts(sizes: list[int]) -> list[tuple[int, int]]:
    """Return when the next packet can begin behind the word too many, and the words until then."""
    result = {}
    for size in sizes:
        for word in range(1, words_of(size) + 1):
            rest = size - min(word * WORD, size) + CHECKSUM + GAP
            result[rest] = max(result.get(rest, 0), words_of(size) - word)
    return sorted(result.items())

"""Draws the random numbers of the authors' program, so that its jobs are ours."""

MODULUS = (1 << 31) - 1
MULTIPLIER = 48271
RANGE = MODULUS - 1  #: bound that every draw is below


class Lehmer:
    """Implements Lehmer's generator: x becomes 48271 x mod (2^31 - 1)."""

    def __init__(self, seed: int) -> None:
        self.state = seed % MODULUS or 1

    def draw(self) -> int:
        """Return the next state, less 1."""
        self.state = MULTIPLIER * self.state % MODULUS
        return self.state - 1

    def below(self, n: int) -> int:
        """Return a number below ``n``: low bits of a draw, which is repeated to be uniform."""
        if n < 2:
            return 0
        bits = (n - 1).bit_length()
        while True:
            drawn = self.draw()
            low = drawn & ((1 << bits) - 1)
            if drawn < RANGE >> bits << bits and low < n:
                return low

    def real(self) -> float:
        """Return a number from 0 to 1, of two draws."""
        low, high = self.draw(), self.draw()
        return (low + high * RANGE) / RANGE**2

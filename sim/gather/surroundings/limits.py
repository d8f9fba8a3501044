"""Holds the number of cards of the largest simulated host, for those who import no hardware."""

MAX_CARDS = 4

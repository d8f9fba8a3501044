"""Declares the clock frequency that all designs are written for."""

CORE_MHZ = 250  #: clock of every design's core on a card, unless chosen, and in all figures

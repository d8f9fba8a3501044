"""The clock that all designs are written for."""

CORE_MHZ = 250  #: of every design's core, on a card and in all figures in seconds

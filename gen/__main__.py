"""Runs the command ``ingather``, as ``python -m gen``."""

from ingather import main

main()

"""``python -m gen`` is ``ingather``."""

from ingather import main

main()

"""``python -m gen`` is ``ingather``."""

from ingather_command import main

main()

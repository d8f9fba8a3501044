"""Takes pictures of a page as Chromium shows it, and collects the errors of its scripts.

``python -m gen.report.screenshot build/report.html -o build/report.png --dark --width 800``

Chromium (or Chrome) must be on the path; it is no part of the package, and nothing else needs it.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from gen.base.errors import UserError

NAMES = ("chromium", "chromium-browser", "google-chrome")
CONSOLE = re.compile(r"CONSOLE[:(]\d+\)?\] (.*)")
SECONDS = 120  #: time within which Chromium must be done
#: what Chromium calls the schemes in its settings
SCHEMES = {False: "1", True: "0"}


def browser() -> str:
    """Return the browser's path; raise UserError if there is none."""
    for name in NAMES:
        if result := shutil.which(name):
            return result
    raise UserError(f"pictures need a browser on the path: one of {', '.join(NAMES)}")


def screenshot(
    page: Path, picture: Path, *, width: int = 1400, height: int = 2000, dark: bool = False
) -> list[str]:
    """Write the page's first ``height`` pixels as PNG; return what its scripts printed.

    Raises UserError if the page is not there, or the browser does not make a picture.
    """
    if not page.is_file():
        raise UserError(f"there is no page {page}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            browser(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={profile}",
            f"--screenshot={picture.absolute()}",
            f"--window-size={width},{height}",
            "--virtual-time-budget=5000",
            f"--blink-settings=preferredColorScheme={SCHEMES[dark]}",
            page.absolute().as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            raise UserError(f"the browser took more than {SECONDS} s for {page}") from error
    if done.returncode or not picture.is_file():
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise UserError(f"the browser made no picture of {page}: {last}")
    return CONSOLE.findall(done.stderr)


def main(
    page: Annotated[Path, typer.Argument(help="Show this HTML file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Write this PNG file.")],
    width: Annotated[int, typer.Option(min=200, help="Make the window so wide, in pixels.")] = 1400,
    height: Annotated[
        int, typer.Option(min=200, help="Make the window so high, in pixels.")
    ] = 2000,
    dark: Annotated[bool, typer.Option("--dark", help="Show the page's dark colours.")] = False,
) -> None:
    """Write a picture of a page, and what its scripts said; exit 1 if they said anything."""
    try:
        said = screenshot(page, output, width=width, height=height, dark=dark)
    except UserError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from error
    for line in said:
        print(line)
    raise typer.Exit(1 if said else 0)


if __name__ == "__main__":
    typer.run(main)

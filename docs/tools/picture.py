"""Take README's picture, of the first page in light, and write beside it the hash of the templates and the stylesheet that it shows.

    uv run python -m docs.tools.picture

needs Chromium: the program that PLAYWRIGHT_CHROMIUM names, or one of `PROGRAMS`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, meta

from tensorcopy import files
from tensorcopy.copying.shipped import shipped
from tensorcopy.site import build

PICTURE, TAKEN = Path("docs/dashboard.png"), Path("docs/dashboard.json")
PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
WIDTH, HEIGHT = 1280, 800
TEMPLATES = (Path("tensorcopy/copying/templates"), Path("tensorcopy/site/templates"))
FIRST = "landing.html"


def sources() -> list[Path]:
    """Return the files that make the first page: its template, the templates that these use, and the stylesheet."""
    found, ahead = dict[str, Path](), [FIRST]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found[name] = next(path for folder in TEMPLATES if (path := folder / name).exists())
            parsed = Environment(autoescape=True).parse(found[name].read_text(encoding="utf-8"))
            ahead += [used for used in meta.find_referenced_templates(parsed) if used]
    return [*found.values(), Path("tensorcopy/site/static/tensorcopy.css")]


def taken_of() -> str:
    """Return what stands beside a picture of the first page as it is: a hash of what `sources` names, as JSON."""
    return json.dumps({"of": sha256(b"\0".join(path.read_bytes() for path in sorted(sources()))).hexdigest()}) + "\n"


def main() -> None:
    """Publish the site into a temporary folder, and take the picture."""
    program = os.environ.get("PLAYWRIGHT_CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), PROGRAMS[0])
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder)
        build.publish(shipped(), Path("results"), site)
        taken = site / "taken.png"
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=4000", f"--window-size={WIDTH},{HEIGHT}"]
        address = (site / "index.html").as_uri()
        subprocess.run([program, *options, f"--screenshot={taken}", address], check=True, capture_output=True)
        shutil.copy(taken, PICTURE)
    files.replace(TAKEN, taken_of())


if __name__ == "__main__":
    main()

"""Write the site from a folder of launches: pages, data files, the feed and the badge."""

from __future__ import annotations

import gc
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tensorcopy import __version__, configuration, numbers
from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tensorcopy.report import causes
from tensorcopy.report.table import csv_text
from tensorcopy.results import function_profiles, reader
from tensorcopy.site import facts, views
from tensorcopy.site.chart import SECONDS, spark
from tensorcopy.site.facts import Site, slug, told
from tensorcopy.site.views import Page, Values

STATIC = Path(__file__).with_name("static")
NAVIGATION = {"History": "history.html", "Compare": "compare/index.html", "Slower now": "regressions.html", "Data": "data.html"}
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")  # not allowed in HTML or XML
OWN = "TENSORCOPY_OWN_HISTORY"  # the variable in which `dashboard` names the history of its machine
FEED, BADGE = "slowdowns.xml", "regressions.svg"
CSV = ("torch", "value", "unit", "ratio", "low", "high", "verdict", "meaning", "detectable", "instructions", "launches", "failure")
LETTER = 6.6  # width of a letter of the badge


def publish(campaign: Campaign, results_dir: Path, html_dir: Path) -> tuple[Sequence[TensorcopyError], Sequence[TensorcopyError]]:
    """Write every page; return the problems of results that could not be read, and a warning about a folder without a launch."""
    collects = gc.isenabled()
    gc.disable()  # nearly all that a site is made of lasts until it is written: an eighth of the time
    try:
        return _published(campaign, results_dir, html_dir)
    finally:
        if collects:
            gc.enable()


def _published(campaign: Campaign, results_dir: Path, html_dir: Path) -> tuple[Sequence[TensorcopyError], Sequence[TensorcopyError]]:
    loaded = reader.load_results(results_dir, campaign)
    problems = unreadable(loaded)
    source, root = web_addresses(os.environ)
    own = os.environ.get(OWN, "")
    write(facts.site(campaign, loaded.histories, docs=documents(), source=source, own=own, problems=problems), html_dir, root)
    if not loaded.results:
        nothing = TensorcopyError(
            "the site has no time of any release",
            got=f"no launch in {results_dir}",
            allowed="a folder of launches",
            next="tensorcopy measure; or correct results_dir in asv.conf.json",
        )
        return problems, [nothing]
    return problems, []


def unreadable(loaded: reader.Results) -> tuple[TensorcopyError, ...]:
    """Return the problems of launches and of profiles that could not be read: with them a site ends in exit code 2."""
    return (*loaded.problems, *function_profiles.readable(loaded.results)[1])


def documents(checkout: Path = Path()) -> dict[str, str]:
    """Return the Markdown of docs/ by file name without ending, and its figures by file name."""
    paths = [path for ending in ("md", "svg") for path in sorted((checkout / "docs").glob(f"*.{ending}"))]
    return {path.name.removesuffix(".md"): path.read_text(encoding="utf-8") for path in paths}


def web_addresses(environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the addresses of the repository and of the site's root, which ends with "/"; "" for an unknown one.

    Without one in asv.conf.json, the repository is that of the running GitHub workflow, or else git's origin: a fork links to itself.
    """
    own = configuration.of_folder()
    workflow = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(environment) if "GITHUB_REPOSITORY" in environment else ""
    origin = configuration.web_address(git.printed("config", "--get", "remote.origin.url"))
    return own.source_url or workflow or origin, f"{own.site_url.rstrip('/')}/" if own.site_url else ""


def write(content: Site, html_dir: Path, root: str = "") -> None:
    """Write every file of a site into a folder.

    root : the address of the site, "" where it is unknown
    """
    shutil.copytree(STATIC, html_dir, dirs_exist_ok=True)
    for address, text in files(content, root):
        path = html_dir / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CONTROL.sub("\ufffd", text), encoding="utf-8")


def files(content: Site, root: str = "") -> Iterator[tuple[str, str]]:
    """Yield the address and the text of every page and data file."""
    pages = {page.address: page for page in views.pages(content)}
    navigation, translate = NAVIGATION, _english
    if content.campaign.pages:
        own: Any = import_module(content.campaign.pages)
        pages |= {page.address: page for page in own.pages(content, pages)}
        navigation, translate = own.NAVIGATION, own.translated
    templates = environment(content, navigation, root)
    for page in pages.values():
        yield page.address, _html(templates, page, root, translate)
    for history in content.histories:
        table = [[case.name, *_of_csv(row)] for case, rows in history.rows.items() for row in rows]
        yield f"data/{slug(history.name)}.csv", csv_text(("case", *CSV), table)
    for history, subject, device in content.subjects():
        rows = {case: of for case, of in history.rows.items() if facts.subject(case) == subject and case.device == device}
        document = {case.name: _of_json(history.cases[case].unit, of) for case, of in rows.items()}
        yield views.json_address(history, subject, device), f"{msgspec.json.encode(document).decode()}\n"
    yield FEED, templates.get_template("feed.xml").render(entries=[*entries(content)])
    yield BADGE, templates.get_template("badge.svg").render(label="slower than before", message=open_message(content), letter=LETTER)


def _html(templates: Environment, page: Page, root: str, translate: Callable[..., Markup]) -> str:
    """Return the HTML of a page. The one of a missing address is shown at any depth, so its links begin at the site's root."""
    is_missing = page.address == "404.html"
    folder = urlsplit(root).path or "/" if is_missing else "../" * page.address.count("/")
    values = {**page._asdict(), **page.values}
    return templates.get_template(page.template).render(values, root=folder, t=partial(translate, page.language))


def _english(language: str, text: str, **values: object) -> Markup:
    """Return a text with its placeholders filled in: a campaign without pages of its own has no translation."""
    return Markup(text).format(**values) if values else escape(text)  # noqa: S704 - of a template; values are escaped


def environment(content: Site, navigation: Mapping[str, str], root: str) -> Environment:
    """Return the templates with what every page shows."""
    own = [content.campaign.pages.rpartition(".")[0]] if content.campaign.pages else []  # has the folder of their templates
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*own, "tensorcopy.site")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    named = ("count", "duration", "duration_range", "number", "percent", "quantity", "ratio_text", "signed", "signed_interval")
    made.filters.update({name: getattr(numbers, name) for name in (*named, "signed_percent", "slowdown", "unbroken")})
    made.filters.update(breakable=breakable, coded=coded, told=told, slug=slug, work=facts.instructions_text)
    made.filters.update(case_text=causes.case_text, calls=causes.calls)
    made.globals.update(campaign=content.campaign, site_name=content.campaign.name, day=content.day, devices=[*content.answering])
    made.globals.update(navigation=navigation, source=content.source, site=root, own=content.own, problems=content.problems)
    made.globals.update(feed=FEED, badge=BADGE, back=facts.BACK, version=__version__)
    made.globals.update(counted=numbers.counted, spark=spark, cause_rows=causes.rows)
    return made


def _of_csv(row: Values) -> Iterator[object]:
    """Yield the fields of a release's row; of its launches only their number."""
    yield from (len(row[name]) if name == "launches" else "" if row[name] is None else _rounded(row[name]) for name in CSV)


def _of_json(unit: str, rows: Sequence[Values]) -> Values:
    """Return a case: its unit, and of each field a list over the releases, null where one has none; without fields that none has."""
    digits = 4 if unit == SECONDS else 5  # of a launch
    columns = {name: [None if row[name] == "" else _rounded(row[name], digits) for row in rows] for name in dict.fromkeys(chain(*rows))}
    return {**{name: of for name, of in columns.items() if any(each is not None for each in of)}, "unit": unit}


def _rounded(value: Any, of_launch: int = 5) -> Any:
    """Return a number with five significant digits, or those of a launch with others; a text as it is."""
    if isinstance(value, list):
        return [float(f"{each:.{of_launch}g}") for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def entries(content: Site) -> Iterator[dict[str, str]]:
    """Yield an entry of the feed for each device on which the newest release brought slowdowns; those that are back are no news.

    Its id has the device and the release alone, and its day is that of the first launch that timed the cases: a reader shows it once.
    """
    for device, history in content.answering.items():
        new = [each for each in history.open_methods(device) if each.since is facts.OpenSince.NEW]
        if not new:
            continue
        result = history.newest(device)
        texts = [
            f"{history.code(each.cases[0].case)}: up to +{100 * (each.worst.ratio - 1):.1f} % in {numbers.counted(len(each.cases), 'case')}"
            for each in new
        ]
        yield {
            "id": f"{content.source or 'urn:tensorcopy'}/feed/new/{device}/{result.version}",
            "title": f"torch {result.version} on {device}: {numbers.counted(len(new), 'method')} slower",
            "day": result.days(of.case for each in new for of in each.cases)[0],
            "summary": f"{result.hardware(device)} ({history.name}); {'; '.join(texts)}",
        }


def open_message(content: Site) -> str:
    """Return for each device how many methods are slower than with an earlier release, and not accepted as such."""
    texts = []
    for device, history in content.answering.items():
        news = {facts.subject(each.cases[0].case) for each in history.open_methods(device) if each.is_news}
        texts.append(f"{numbers.counted(len(news), 'method')} on torch {history.newest(device).version} ({device})")
    return ", ".join(texts) or "nothing measured yet"


def breakable(code: str) -> Markup:
    """Allow a line break before each call but the first."""
    head, *calls = code.split(".")
    return Markup("<wbr>.").join([".".join([head, *calls[:1]]), *calls[1:]])


def coded(text: str) -> Markup:
    """Return a text whose parts between backticks are code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(breakable(part)) if index % 2 else escape(part) for index, part in enumerate(parts)
    )

"""Time over size: a page for each result, with the article's two pictures for each group and device."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from tensorcopy.analysis.comparisons import version
from tensorcopy.site import addresses
from tensorcopy.site.charts import charts
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.costs import CostTable, case_of, costs, groups
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.page import File, Page
from tensorcopy.site.pages.data import times
from tensorcopy.worker.devices import ACCELERATORS


def pages(content: Content) -> Iterator[Page | File]:
    yield Page(addresses.SIZES, "sizes_index.html", "Time over size", {"machines": content.machines})
    for one in content.series:
        for index in range(len(one.results)):
            yield from _of_result(content, one, index)


def _of_result(content: Content, one: Series, index: int) -> Iterator[Page | File]:
    result, machine = one.results[index], content.machine_of(one.results[index])
    address = addresses.of_sizes(result)
    csv = addresses.data(address, "csv")
    tables = [
        table
        for device in ("cpu", *ACCELERATORS)
        for group in groups(result)
        if (table := costs(result, group, device, one.results)).methods
    ]

    def codes(table: CostTable) -> dict[str, str]:
        return {method: machine.code(method, table.device) for method in table.methods}

    around = [(other, one.results[other]) for other in (index - 1, index + 1) if 0 <= other < len(one.results)]
    values = {
        "result": result,
        "release": version(result),
        "tables": tables,
        "names": lambda table: list(codes(table).values()),
        "picture": lambda table, linear: Markup(charts.of_sizes(table, codes(table), linear=linear)),  # noqa: S704 - our own SVG
        "neighbours": [(f"torch {version(other)}", addresses.of_sizes(other)) for _, other in around],
        "missing": [device for device in ACCELERATORS if all(table.device != device for table in tables)],
        "csv": csv,
    }
    yield Page(address, "sizes.html", f"torch {version(result)}: time over size", values)
    pictured = [case_of(table.group, method, numel, table.device) for table in tables for method in table.methods for numel in table.numels]
    yield File(csv, times([result], pictured))

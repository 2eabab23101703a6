"""The comparisons that have a page, each judged once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.site import addresses
from tensorcopy.site.model.result_series import Pair


class ComparisonTable(Mapping[str, Comparison]):
    """The comparison of every pair of results that has a page, by address.

    One is judged when it is first read, unless another process (`keep`) has judged it.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._pairs = {addresses.of_comparison(before, after): (series, before, after) for series, before, after in pairs}
        self._judged: dict[str, Comparison] = {}

    def __getitem__(self, address: str) -> Comparison:
        if address not in self._judged:
            series, before, after = self._pairs[address]
            self._judged[address] = series.compared(before, after)
        return self._judged[address]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __contains__(self, address: object) -> bool:
        return address in self._pairs  # without judging it

    def of_machine(self, machine: str) -> list[str]:
        """Return the addresses of the comparisons whose later side is of a machine."""
        return [address for address, (_, _, after) in self._pairs.items() if after.machine == machine]

    def between_machines(self) -> list[str]:
        """Return the addresses of the comparisons of two machines."""
        return [address for address, (_, before, after) in self._pairs.items() if before.machine != after.machine]

    def keep(self, judged: Mapping[str, Comparison]) -> None:
        """Take over comparisons that were judged elsewhere."""
        self._judged.update(judged)

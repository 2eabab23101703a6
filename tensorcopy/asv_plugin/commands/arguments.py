"""Arguments with which `asv run` and `asv find` would measure another torch than they print, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asv.commands.find import Find
from asv.commands.run import Run
from asv.repo import get_repo

from tensorcopy.asv_plugin.exits import exit_on_error
from tensorcopy.errors import TensorcopyError

FEWEST = 3  # releases between which `asv find` measures; of fewer it names the last one unmeasured


def check_arguments() -> None:
    """Let `asv run` and `asv find` end before they measure, with exit code 2, where their arguments do not suit torch releases."""
    _check_before(Run, _one_process, _own_label, _no_release_for_existing)
    _check_before(Find, _one_process, _enough_releases)


def _check_before(command: Any, *checks: Callable[[Any, Any], None]) -> None:
    run = command.run_from_conf_args

    def checked(conf: Any, options: Any, **others: Any) -> Any:
        with exit_on_error():
            for check in checks:
                check(conf, options)
        return run(conf, options, **others)

    command.run_from_conf_args = checked


def _one_process(_conf: Any, options: Any) -> None:
    """Raise TensorcopyError for --parallel.

    asv would install each release in another process, and measure in this one with the release before.
    """
    if options.parallel != 1:
        raise TensorcopyError(
            "asv cannot install torch releases in parallel",
            got="--parallel",
            allowed="one environment after the other",
            next="leave --parallel out",
        )


def _own_label(_conf: Any, options: Any) -> None:
    """Raise TensorcopyError for --set-commit-hash: a result belongs to the release that was measured."""
    if options.set_commit_hash is not None:
        raise TensorcopyError(
            "a result is stored for the torch that was measured",
            got=f"--set-commit-hash {options.set_commit_hash}",
            allowed="the SHA that torch reports",
            next=f"asv run -E interpreter:same {options.set_commit_hash}^!",
        )


def _no_release_for_existing(_conf: Any, options: Any) -> None:
    """Raise TensorcopyError for a release beside `-E existing`, of which asv stores nothing."""
    names = [name.partition(":") for name in options.env_spec or ()]
    existing = [python or "same" for kind, _, python in names if kind == "existing" or (not kind and python == "same")]
    if existing and options.range:
        raise TensorcopyError(
            "an existing environment is measured as it is, and the result is not stored",
            got=options.range,
            allowed="no release",
            next=f"leave it out, or asv run -E interpreter:{existing[0]} {options.range}, which stores the result",
        )


def _enough_releases(conf: Any, options: Any) -> None:
    """Raise TensorcopyError where `asv find` would measure nothing."""
    repo = get_repo(conf)
    tags = [repo.get_name_from_hash(sha) for sha in reversed(repo.get_hashes_from_range(options.range))]
    if len(tags) < FEWEST:
        first, last = options.range.partition("..")[0] if ".." in options.range else "A", (tags or ["B"])[-1]
        sides = " ".join(name.removeprefix("v") for name in (first or "A", last))
        raise TensorcopyError(
            "asv find needs releases between which it can search",
            got=f"{options.range}, which is {', '.join(tags) or 'none'}",
            allowed=f"a range of {FEWEST} or more; A..B begins after A",
            next=f"tensorcopy compare {sides}, or tensorcopy bisect CASE {sides}",
        )

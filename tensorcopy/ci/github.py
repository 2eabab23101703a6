"""GitHub: the measuring run, its comment and new pull requests.

Which pull request a run belongs to is read from GitHub's event and API, never from the files that the run left behind.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError

BOT = "Bot"  # the type of the account that comments


@dataclass(frozen=True)
class MeasuringRun:
    """The workflow run that measured, from GitHub's event "workflow_run".

    owner, branch, sha : of the measured head; anybody can choose the branch's name
    address : of the run's page
    """

    owner: str
    branch: str
    sha: str
    address: str


def measuring_run() -> MeasuringRun:
    """Return the run that triggered this process. Raises TensorcopyError."""
    try:
        run = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))["workflow_run"]
        return MeasuringRun(run["head_repository"]["owner"]["login"], run["head_branch"], run["head_sha"], run["html_url"])
    except (KeyError, OSError, ValueError, TypeError) as error:
        raise TensorcopyError(
            "this is not a run of comment.yml",
            got=f"{type(error).__name__}: {error}",
            allowed="GITHUB_EVENT_PATH with the event workflow_run",
            next="run it in comment.yml; without --post, ci comment prints the comment",
        ) from error


def comment(run: MeasuringRun, marker: str, write: Callable[[str], str]) -> str:
    """Comment on the pull request whose head was measured; return a sentence about it.

    An earlier comment of ours is replaced.

    marker : the first text of our comment
    write : returns the new text, given the text of our earlier comment or ""; "" for no comment
    """
    with _repository() as repository:
        open_pulls = repository.get_pulls(state="open", head=f"{run.owner}:{run.branch}")
        measured = [pull for pull in open_pulls if pull.head.sha == run.sha]
        if not measured:
            return f"no comment: {run.sha[:8]} is no longer the head of an open pull request"
        for pull in measured:
            ours = [comment for comment in pull.get_issue_comments() if comment.user.type == BOT and comment.body.startswith(marker)]
            if ours:
                ours[0].edit(write(ours[0].body))
            elif text := write(""):
                pull.create_issue_comment(text)
        return f"commented on pull request {', '.join(str(pull.number) for pull in measured)}"


def remove_label(run: MeasuringRun, label: str) -> str:
    """Remove a label from the open pull requests of the measured branch; return a sentence about it.

    Also where the branch has a newer head: whoever set the label has not seen that one.
    """
    with _repository() as repository:
        open_pulls = repository.get_pulls(state="open", head=f"{run.owner}:{run.branch}")
        labelled = [pull for pull in open_pulls if label in [each.name for each in pull.labels]]
        for pull in labelled:
            pull.remove_from_labels(label)
        numbers = ", ".join(str(pull.number) for pull in labelled)
        return f'removed "{label}" from pull request {numbers}' if labelled else f'no open pull request of this branch has "{label}"'


def propose(branch: str, title: str, text: str, start: str) -> str:
    """Open a pull request for a pushed branch; return a sentence about it.

    A pull request that is already open is used again. GitHub starts no workflow by itself for a pull request that a workflow opened.

    start : a workflow to start on the branch, such as "ci.yml"; "" for none
    """
    with _repository() as repository:
        owner = repository.full_name.split("/")[0]
        pulls = list(repository.get_pulls(state="open", head=f"{owner}:{branch}"))
        pull = pulls[0] if pulls else repository.create_pull(base=repository.default_branch, head=branch, title=title, body=text)
        if start:
            repository.get_workflow(start).create_dispatch(branch)
        return f"{'updated' if pulls else 'opened'} pull request {pull.number}"


@contextmanager
def _repository() -> Iterator[Any]:
    """Yield this repository on GitHub. Raises TensorcopyError if GitHub refuses or cannot be reached."""
    import github  # an extra of its own, which the list of runners does not need
    import requests

    name, token = os.environ.get("GITHUB_REPOSITORY"), os.environ.get("GITHUB_TOKEN")
    if not name or not token:
        raise TensorcopyError(
            "this is not a run on GitHub",
            got="no GITHUB_REPOSITORY or no GITHUB_TOKEN",
            allowed="a workflow that passes its token",
            next="read .github/workflows",
        )
    address = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    with github.Github(auth=github.Auth.Token(token), base_url=address) as hub:
        try:
            yield hub.get_repo(name)
        except github.GithubException as error:
            message = error.data.get("message", "") if isinstance(error.data, dict) else ""
            raise TensorcopyError(
                "GitHub refused the request",
                got=f"{error.status} {message}",
                allowed="a token with permission",
                next="check the job's permissions",
            ) from error
        except requests.RequestException as error:
            raise TensorcopyError(
                "GitHub cannot be reached", got=str(error), allowed=f"a connection to {address}", next="repeat"
            ) from error

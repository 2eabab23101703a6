"""GitHub: which pull request an event is about, our comment under it, and a pull request of our own. Through PyGithub.

What GitHub says of an event (its file, the API) is believed; what a run has left behind is not asked which pull request it is about.
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

try:
    import github
except ImportError as _missing:
    raise TensorcopyError(
        "what talks to GitHub is not installed", got="no PyGithub", allowed="the group github", next="uv run --group github tensorcopy …"
    ) from _missing

BOT = "Bot"  # the type of the account that comments


@dataclass(frozen=True)
class Measured:
    """The run that measured, as GitHub tells it in the event "workflow_run".

    owner, branch, sha : of the head that was measured; the branch's name is anybody's
    address : of the run, for people
    """

    owner: str
    branch: str
    sha: str
    address: str


def measured() -> Measured:
    """Of the event that started this process. Raises TensorcopyError where there is none, or another."""
    try:
        run = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))["workflow_run"]
        return Measured(run["head_repository"]["owner"]["login"], run["head_branch"], run["head_sha"], run["html_url"])
    except (KeyError, OSError, ValueError, TypeError) as error:
        raise TensorcopyError(
            "this is not a run of comment.yml",
            got=f"{type(error).__name__}: {error}",
            allowed="GITHUB_EVENT_PATH with the event workflow_run",
            next="leave --post out: the comment is printed",
        ) from error


def comment(run: Measured, marker: str, write: Callable[[str], str]) -> str:
    """Put a comment under the pull request whose head was measured, in the place of ours where there is one. What was done, in a sentence.

    marker : what our comment begins with
    write : from the comment's text before, "" for none, to its text
    """
    with _repository() as repository:
        open_ones = repository.get_pulls(state="open", head=f"{run.owner}:{run.branch}")
        found = [pull for pull in open_ones if pull.head.sha == run.sha]
        if not found:
            return f"no open pull request has {run.sha[:8]} as its head any more: nothing was said"
        for pull in found:
            ours = [one for one in pull.get_issue_comments() if one.user.type == BOT and one.body.startswith(marker)]
            if ours:
                ours[0].edit(write(ours[0].body))
            else:
                pull.create_issue_comment(write(""))
        return f"said under pull request {', '.join(str(pull.number) for pull in found)}"


def propose(branch: str, title: str, text: str, start: str) -> str:
    """Open a pull request for a branch that was pushed, unless there is one, and start a workflow on it: GitHub starts none by itself for
    what a workflow has opened. What was done, in a sentence.

    start : the workflow's file; "" for none
    """
    with _repository() as repository:
        owner = repository.full_name.split("/")[0]
        there = list(repository.get_pulls(state="open", head=f"{owner}:{branch}"))
        pull = there[0] if there else repository.create_pull(base=repository.default_branch, head=branch, title=title, body=text)
        if start:
            repository.get_workflow(start).create_dispatch(branch)
        return f"pull request {pull.number} {'has grown' if there else 'is open'}"


@contextmanager
def _repository() -> Iterator[Any]:
    """This repository on GitHub. GitHub's refusals become errors of ours."""
    name, token = os.environ.get("GITHUB_REPOSITORY"), os.environ.get("GITHUB_TOKEN")
    if not name or not token:
        raise TensorcopyError(
            "this is not a run on GitHub",
            got="no GITHUB_REPOSITORY or no GITHUB_TOKEN",
            allowed="a workflow that hands its token on",
            next="look at .github/workflows",
        )
    address = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    with github.Github(auth=github.Auth.Token(token), base_url=address) as hub:
        try:
            yield hub.get_repo(name)
        except github.GithubException as error:
            said = error.data.get("message", "") if isinstance(error.data, dict) else ""
            raise TensorcopyError(
                "GitHub refused", got=f"{error.status} {said}", allowed="a token that may do this", next="look at the job's permissions"
            ) from error

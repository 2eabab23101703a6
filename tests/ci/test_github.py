"""Comments and pull requests on GitHub, against a small server with GitHub's API."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import SplitResult, parse_qs, urlsplit

import pytest
from github.Requester import Requester

from tensorcopy.ci import pr_comment
from tensorcopy.cli import main
from tensorcopy.results import reader
from tests import launch_files
from tests.ci.test_pr_comment import artifact, document, pair_result
from tests.conftest import POLL, ROOT
from tests.repositories import AUTHOR, commit_all, run
from tests.repository.test_workflows import TENSORCOPY, commands_of

HEAD, MOVED = "f" * 40, "e" * 40


TABLE = "tensorcopy/releases.toml"


def step(workflow: str, command: str) -> list[str]:
    """Return the arguments of the step of a workflow that runs a command of tensorcopy, such as "ci propose"."""
    (arguments,) = (
        found for found in commands_of(ROOT / ".github/workflows" / workflow, TENSORCOPY) if " ".join(found).startswith(command)
    )
    return arguments


class Forge(BaseHTTPRequestHandler):
    """The part of GitHub's REST API that tensorcopy uses."""

    def log_message(self, *_: object) -> None:
        pass

    def respond(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if self.headers.get("Authorization") == "token secret":
            status, value = self.answer(urlsplit(self.path), body)
        else:
            status, value = 401, {"message": "Bad credentials"}
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = respond

    def answer(self, address: SplitResult, body: dict[str, object]) -> tuple[int, object]:
        """Return the status and the value; only a request that changes something has a body."""
        state, repository, path = self.server.state, f"{self.server.address}/repos/o/r", address.path.removeprefix("/repos/o/r")
        if path == "":
            return 200, {"full_name": "o/r", "default_branch": "main", "url": repository}
        if path == "/pulls":
            if body:
                state["pulls"].append({"number": 9, "head": {"label": f"o:{body['head']}", "sha": HEAD}, "title": body["title"]})
            label = f"o:{body['head']}" if body else parse_qs(address.query)["head"][0]
            found = [pull for pull in state["pulls"] if pull["head"]["label"] == label]
            pulls = [{**pull, "issue_url": f"{repository}/issues/{pull['number']}"} for pull in found]
            return (201, pulls[-1]) if body else (200, pulls)
        if match := re.fullmatch(r"/issues/(\d+)/comments", path):
            comments, issue = state["comments"], int(match[1])
            if not body:
                return 200, [comment for comment in comments if comment["issue"] == issue]
            number, bot = len(comments), {"login": "github-actions[bot]", "type": "Bot"}
            comments.append({"id": number, "issue": issue, "user": bot, "url": f"{repository}/comments/{number}", **body})
            return 201, comments[-1]
        if match := re.fullmatch(r"/comments/(\d+)", path):
            state["comments"][int(match[1])].update(body)
            return 200, state["comments"][int(match[1])]
        if path == "/actions/workflows/pull-request.yml":
            return 200, {"id": 1, "url": f"{repository}/actions/workflows/1"}
        if path == "/actions/workflows/1/dispatches":
            state["started"].append(body)
            return 204, {}
        return 404, {"message": "Not Found"}


@pytest.fixture
def forge(tmp_path, monkeypatch):
    """A forge with two pull requests of a fork; the second was measured, and a person has copied our marker into a comment on it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    person = {"id": 1, "issue": 7, "user": {"login": "person", "type": "User"}, "body": f"{pr_comment.MARKER} me", "url": ""}
    pulls = [{"number": number, "head": {"label": "fork:change", "sha": sha}} for number, sha in ((6, MOVED), (7, HEAD))]
    server.state = {"pulls": pulls, "comments": [person], "started": []}
    Thread(target=server.serve_forever, args=(POLL,), daemon=True).start()
    event = {"head_repository": {"owner": {"login": "fork"}}, "head_branch": "change", "head_sha": HEAD, "html_url": "https://x/runs/1"}
    (tmp_path / "event.json").write_text(json.dumps({"workflow_run": event}))
    monkeypatch.setenv("GITHUB_API_URL", server.address)
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    monkeypatch.setattr(Requester, "_Requester__deferRequest", lambda *_: None)  # pauses that GitHub asks for
    yield server
    server.shutdown()
    server.server_close()


def test_one_comment_is_updated_in_place(forge, tmp_path, monkeypatch, capsys):
    """By the step of comment.yml. A person's comment with our marker is not replaced."""
    monkeypatch.chdir(tmp_path)
    command = step("comment.yml", "ci comment")
    artifact(tmp_path / "artifact", document(pair_result(None, head=["first"])))
    assert main(command) == 0
    assert "commented on pull request 7" in capsys.readouterr().out
    artifact(tmp_path / "artifact", document(pair_result(None, head=["second"])))
    assert main(command) == 0
    person, ours = forge.state["comments"]
    assert person["body"] == f"{pr_comment.MARKER} me"
    assert ours["issue"] == 7
    assert "second" in ours["body"]
    assert "first" not in ours["body"]
    assert "](https://x/runs/1)" in ours["body"]


def test_a_comment_that_cannot_be_made_marks_the_old_one_as_outdated(forge, tmp_path, capsys, monkeypatch):
    """The result of an earlier commit must not pass for this one's; the run itself fails."""
    first = artifact(tmp_path / "out", document(pair_result(None, head=["first"])))
    assert main(["ci", "comment", str(first), "--post"]) == 0
    monkeypatch.setattr(pr_comment, "_pair", lambda *_: 1 / 0)
    assert main(["ci", "comment", str(first), "--post"]) == 2
    body = forge.state["comments"][-1]["body"]
    assert "first" not in body
    assert "The earlier comment is outdated: it belongs to another commit. [Workflow run](https://x/runs/1)" in body
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_pull_request_that_changes_nothing_measured_gets_no_comment(forge, tmp_path):
    """An earlier comment of ours is brought up to date."""
    quiet, loud = {**document(pair_result(None)), "pairs": []}, document(pair_result(None, head=["first"]))
    for written, ours in ((quiet, []), (loud, ["first"]), (quiet, ["No file that is measured differs from the base"])):
        artifact(tmp_path / "out", written)
        assert main(["ci", "comment", str(tmp_path / "out"), "--post"]) == 0
        assert len(forge.state["comments"]) == 1 + len(ours)
        assert all(text in comment["body"] for text, comment in zip(ours, forge.state["comments"][1:]))


def test_an_artifact_cannot_choose_its_pull_request(forge, tmp_path):
    """If it tries, it is not shown, and GitHub's event still decides."""
    artifact(tmp_path / "out", {**document(pair_result(None)), "pull_request": 6})
    assert main(["ci", "comment", str(tmp_path / "out"), "--post"]) == 0
    ours = forge.state["comments"][-1]
    assert ours["issue"] == 7
    assert "cannot be shown" in ours["body"]


def test_a_head_that_is_no_longer_current_gets_no_comment(forge, tmp_path, capsys):
    """The run of the new head comments."""
    forge.state["pulls"] = forge.state["pulls"][:1]
    assert main(["ci", "comment", str(tmp_path), "--post"]) == 0
    assert "no comment: ffffffff is no longer the head of an open pull request" in capsys.readouterr().out
    assert len(forge.state["comments"]) == 1


def test_a_comment_needs_a_folder(tmp_path, capsys):
    assert main(["ci", "comment", str(tmp_path / "nowhere")]) == 2
    assert "no such folder: got " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("GITHUB_TOKEN", "wrong", "GitHub refused the request: got 401 Bad credentials"),
        ("GITHUB_TOKEN", "", "this is not a run on GitHub"),
        ("GITHUB_API_URL", "http://127.0.0.1:9", "GitHub cannot be reached: got "),
        ("GITHUB_EVENT_PATH", "no such file", "event workflow_run; next: run it in comment.yml; without --post, "),
    ],
)
def test_a_missing_variable_permission_or_network_is_an_error(forge, tmp_path, monkeypatch, capsys, name, value, message):
    monkeypatch.setenv(name, value)
    assert main(["ci", "comment", str(tmp_path), "--post"]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A clone of a repository with one file."""
    run(tmp_path, "init", "-q", "--bare", "-b", "main", "origin")
    run(tmp_path, "clone", "-q", "origin", "work")
    work = tmp_path / "work"
    (work / "tensorcopy").mkdir()
    (work / TABLE).write_text("one")
    run(work, "checkout", "-q", "-B", "main")
    commit_all(work, "one")
    run(work, "push", "-q", "origin", "main")
    monkeypatch.chdir(work)
    return work


def test_a_change_becomes_a_pull_request_once(forge, repository, capsys):
    """By the step of releases.yml. A second change updates it; without a change none is opened.

    Its workflow is started, because GitHub starts none by itself.
    """
    title = "releases - torch has a new one"
    command = step("releases.yml", "ci propose")
    assert main(command) == 0
    assert f"Nothing changed in {TABLE}" in capsys.readouterr().out
    forge.state["pulls"] = []
    for text in ("two", "three"):
        run(repository, "checkout", "-q", "main")
        (repository / TABLE).write_text(text)
        assert main(command) == 0
    assert capsys.readouterr().out.splitlines() == ["opened pull request 9", "updated pull request 9"]
    assert [pull["title"] for pull in forge.state["pulls"]] == [title]
    assert forge.state["started"] == [{"ref": "new-release", "inputs": {}}] * 2
    assert run(repository, "show", f"origin/new-release:{TABLE}") == "three"
    assert run(repository, "log", "--format=%s", "main..origin/new-release") == title


def test_results_are_pushed_after_those_of_others_or_proposed_where_the_branch_is_protected(forge, repository, tmp_path, capsys):
    """Another job may have pushed since the checkout; a protected branch refuses, as here a hook of origin does."""
    other, origin = tmp_path / "other", tmp_path / "origin"
    run(tmp_path, "clone", "-q", "origin", "other")
    run(other, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "of another job")
    run(other, "push", "-q", "origin", "main")
    command = ["ci", "propose", "--push", "--branch", "new-results", "--title", "results", TABLE]
    (repository / TABLE).write_text("two")
    assert main(command) == 0
    assert capsys.readouterr().out == "pushed to main\n"
    assert run(origin, "log", "--format=%s", "main").splitlines() == ["results", "of another job", "one"]
    hook = origin / "hooks" / "update"
    hook.write_text('#!/bin/sh\ntest "$1" != refs/heads/main\n')
    hook.chmod(0o755)
    forge.state["pulls"] = []
    (repository / TABLE).write_text("three")
    assert main(command) == 0
    assert capsys.readouterr().out == "opened pull request 9\n"
    assert run(origin, "show", f"new-results:{TABLE}") == "three"


def test_results_of_a_detached_checkout_are_proposed(forge, repository, tmp_path, capsys):
    """As of a tag: no branch is checked out that could be pushed to."""
    run(repository, "checkout", "-q", "--detach")
    (repository / TABLE).write_text("two")
    forge.state["pulls"] = []
    assert main(["ci", "propose", "--push", "--branch", "new-results", "--title", "results", TABLE]) == 0
    assert capsys.readouterr().out == "opened pull request 9\n"
    assert run(tmp_path / "origin", "branch", "--format=%(refname:short)").split() == ["main", "new-results"]


def test_a_refused_push_is_an_error(forge, repository, capsys):
    (repository / TABLE).write_text("two")
    run(repository, "remote", "set-url", "origin", str(ROOT / "no such place"))
    assert main(["ci", "propose", "--branch", "b", "--title", "t", TABLE]) == 2
    assert "git cannot provide the branch b at origin" in capsys.readouterr().err


@pytest.mark.parametrize("layout", ["measured", "measured/results-new-1"], ids=["one artifact", "two artifacts"])
def test_merge_includes_the_results_of_an_unmerged_branch(repository, capsys, layout):
    """By the step of measure.yml. GitHub puts an only artifact into the folder itself. An absent branch is ignored."""
    for name, where in (("earlier", repository / "results"), ("new", repository / layout)):
        launch_files.write(where, {"copies.BySize.time_copy tensor 16": {"2.15.0": 1.0}}, launches=1, machine=name)
    run(repository, "checkout", "-qb", "new-results")
    run(repository, "add", "results")
    run(repository, *AUTHOR, "commit", "-qm", "one")
    run(repository, "push", "-q", "origin", "HEAD")
    run(repository, "checkout", "-q", "main")
    assert not (repository / "results").exists()
    assert main(step("measure.yml", "merge")) == 0
    assert "results: 4 files added" in capsys.readouterr().out  # with their history.toml
    assert {result.history for result in reader.load_results(repository / "results").results} == {"earlier", "new"}
    assert main(["merge", "measured", "--also", "no-such-branch"]) == 0
    assert "0 files added, 2 there" in capsys.readouterr().out

"""Plays the jobs of a workflow, one after the other."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any

import yaml

from tests.workflow_runs import machine as machines
from tests.workflow_runs.actions import ACTIONS, ActionFailed
from tests.workflow_runs.expressions import as_text, holds, replaced
from tests.workflow_runs.forge import REPOSITORY, Forge
from tests.workflow_runs.machine import Machine

Written = Callable[[Path], bool]  # of a workspace
PATIENCE = 120.0  # real seconds in which an endless step must have written something


@dataclass(frozen=True)
class Event:
    """What started a workflow.

    payload : the event file, as GitHub sends it
    ref : the branch or pull request that is checked out
    inputs : of workflow_dispatch
    variables : of the repository
    run : number of the workflow's run
    """

    name: str
    payload: Mapping[str, Any]
    sha: str
    ref: str = "refs/heads/main"
    inputs: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    run: int = 1


@dataclass(frozen=True)
class Step:
    """A finished step: its command or action, outcome and output."""

    title: str
    outcome: str
    output: str = ""


@dataclass
class Job:
    """A job that is being played, and what it has done.

    after_checkout : is called with the workspace
    endless : by the text of a command that never ends, whether it has written to the workspace what it should: then GitHub ends it
    """

    forge: Forge
    event: Event
    machine: Machine
    token: str
    programs: Path
    after_checkout: Callable[[Path], None]
    extra: Mapping[str, str]
    endless: Mapping[str, Written] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    exported: dict[str, str] = field(default_factory=dict)
    outputs_of_step: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    cancelled: bool = False
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def conclusion(self) -> str:
        """How the job ended, in GitHub's words."""
        if self.cancelled:
            return "cancelled"
        return "failure" if any(step.outcome == "failure" for step in self.steps) else "success"

    def outcome(self, text: str) -> str:
        """Return the outcome of the only step whose title has `text`."""
        (step,) = (step for step in self.steps if text in step.title)
        return step.outcome

    def printed(self, text: str) -> str:
        """Return the output of the only step whose title has `text`."""
        (step,) = (step for step in self.steps if text in step.title)
        return step.output


@dataclass(frozen=True)
class Player:
    """Plays workflows against a local GitHub; the text of each may be edited first.

    folder : of the hosted machine, which is new for each job
    programs : where versions of uv are kept
    kept : machines that stay after a job, by a label
    """

    forge: Forge
    folder: Path
    programs: Path
    after_checkout: Callable[[Path], None] = lambda _: None
    extra: Callable[[Machine], Mapping[str, str]] = lambda _: {}
    kept: Mapping[str, Machine] = field(default_factory=dict)

    def play(self, text: str, event: Event, endless: Mapping[str, Written] = MappingProxyType({})) -> dict[str, list[Job]]:
        """Play a workflow, and return its jobs by name; a job that was skipped is an empty list."""
        workflow = yaml.safe_load(text)
        contexts = {**_contexts(self.forge, workflow, event)}
        played: dict[str, list[Job]] = {}
        for name, job in workflow["jobs"].items():
            needed = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
            contexts["needs"] = {other: _need(played[other]) for other in needed}
            results = [need["result"] for need in contexts["needs"].values()]
            contexts["success()"] = lambda results=results: set(results) <= {"success"}
            contexts["cancelled()"] = lambda: False
            if not holds(str(job.get("if", "success()")), contexts):
                played[name] = []
                continue
            rows = _rows(replaced(job.get("strategy", {}).get("matrix", {}), contexts))
            played[name] = [self._job(job, {**contexts, "matrix": row}, event, endless) for row in rows]
        return played

    def _job(self, job: Mapping[str, Any], contexts: dict[str, Any], event: Event, endless: Mapping[str, Written]) -> Job:
        labels = replaced(job["runs-on"], contexts)
        kept = [self.kept[label] for label in labels if label in self.kept] if isinstance(labels, list) else []
        machine = kept[0] if kept else machines.new(self.folder)
        token = self.forge.token(job["permissions"], _environment(job))
        run = Job(self.forge, event, machine, token, self.programs, self.after_checkout, self.extra(machine), endless)
        contexts["github"] = {**contexts["github"], "token": run.token}
        contexts["runner"] = {"temp": str(machine.temp)}
        contexts["steps"] = {}
        _steps(run, job, contexts)
        run.outputs = {name: as_text(replaced(value, contexts)) for name, value in job.get("outputs", {}).items()}
        return run


def _contexts(forge: Forge, workflow: Mapping[Any, Any], event: Event) -> dict[str, Any]:
    github = {
        "event": event.payload,
        "event_name": event.name,
        "repository": REPOSITORY,
        "ref": event.ref,
        "sha": event.sha,
        "run_id": event.run,
        "api_url": forge.address,
    }
    triggers = workflow.get("on", workflow.get(True))  # YAML 1.1 reads `on` as true
    assert event.name in triggers, f"{event.name} does not start this workflow"
    dispatch = (triggers.get("workflow_dispatch") or {}) if isinstance(triggers, dict) else {}
    defaults = {name: row.get("default") for name, row in dispatch.get("inputs", {}).items()}
    inputs = {**defaults, **event.inputs} if event.name == "workflow_dispatch" else {}
    return {"github": github, "inputs": inputs, "vars": dict(event.variables), "always()": lambda: True}


def _environment(job: Mapping[str, Any]) -> str:
    environment = job.get("environment", "")
    return environment["name"] if isinstance(environment, dict) else environment


def _need(jobs: list[Job]) -> dict[str, Any]:
    results = {job.conclusion for job in jobs}
    result = next((each for each in ("cancelled", "failure", "success") if each in results), "skipped")
    return {"result": result, "outputs": jobs[-1].outputs if jobs else {}}


def _rows(matrix: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return matrix["include"] if matrix else [{}]


def _steps(run: Job, job: Mapping[str, Any], contexts: dict[str, Any]) -> None:
    """Run the steps of a job, and skip those whose condition is false."""
    left = float(job["timeout-minutes"])
    contexts["success()"] = lambda: run.conclusion == "success"
    contexts["failure()"] = lambda: run.conclusion == "failure"
    contexts["cancelled()"] = lambda: run.cancelled
    for step in job["steps"]:
        title = step.get("run") or step["uses"].partition("@")[0]
        if not holds(str(step.get("if", "success()")), contexts):
            run.steps.append(Step(title, "skipped"))
            continue
        run.outputs_of_step = {}
        contexts["env"] = replaced({**job.get("env", {}), **step.get("env", {})}, contexts)
        if "uses" in step:
            outcome, output = _used(run, title, replaced(step.get("with", {}), contexts))
        else:
            written = next((written for text, written in run.endless.items() if text in title), None)
            outcome, output = _ran(run, title, contexts["env"], written)
            if written:  # the step ends when its own time or that of the job is over
                limit = min(float(step.get("timeout-minutes", 360)), left)
                run.cancelled, left = limit == left, left - limit
        run.steps.append(Step(title, "ignored" if step.get("continue-on-error") and outcome == "failure" else outcome, output))
        contexts["steps"][step.get("id", "")] = {"outputs": run.outputs_of_step, "outcome": outcome}


def _used(run: Job, action: str, inputs: Mapping[str, Any]) -> tuple[str, str]:
    try:
        ACTIONS[action](run, dict(inputs))
    except (ActionFailed, OSError) as error:
        return "failure", str(error)
    return "success", ""


def _ran(run: Job, command: str, variables: Mapping[str, Any], written: Written | None) -> tuple[str, str]:
    """Run a command as GitHub does: in a file of its own, by `bash -e`.

    written : whether the command has written what it should, after which it is ended; None for one that ends by itself
    """
    script, outputs = run.machine.temp / "step.sh", run.machine.temp / "outputs"
    script.write_text(command + "\n", encoding="utf-8")
    outputs.write_text("")
    (run.machine.temp / "event.json").write_text(json.dumps(run.event.payload))
    environment = {
        **run.machine.variables(),
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": run.forge.address,
        "GITHUB_SERVER_URL": run.forge.address,
        "GITHUB_EVENT_NAME": run.event.name,
        "GITHUB_EVENT_PATH": str(run.machine.temp / "event.json"),
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_REF": run.event.ref,
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_SHA": run.event.sha,
        "GITHUB_WORKSPACE": str(run.machine.workspace),
        **_identity(run),
        **run.extra,
        **run.exported,
        **{name: as_text(value) for name, value in variables.items()},
    }
    environment["PATH"] = ":".join([*run.path, environment["PATH"]])
    process = subprocess.Popen(["bash", "-e", str(script)], cwd=run.machine.workspace, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)  # fmt: skip
    output = _ended(process, lambda: written(run.machine.workspace)) if written else process.communicate()[0]
    run.outputs_of_step = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    unfit = re.findall(r"this machine is unfit for measuring, ([\w ]+)", output)
    is_busy = bool(unfit) and set(unfit) <= {"other load"}  # by other tests
    return "failure" if process.returncode and not is_busy else "success", output


def _identity(run: Job) -> dict[str, str]:
    """Return the variables by which a command asks GitHub for the job's identity, if the job may."""
    if not run.forge.allows(run.token, "id-token", "write"):
        return {}
    return {"ACTIONS_ID_TOKEN_REQUEST_URL": f"{run.forge.address}/identity?version=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": run.token}


def _ended(process: subprocess.Popen[str], is_time: Callable[[], bool]) -> str:
    """End a step as GitHub does: SIGINT, then SIGTERM, then SIGKILL to all of its processes. Return its output."""
    start = monotonic()
    while not is_time() and monotonic() < start + PATIENCE:
        try:
            return process.communicate(timeout=0.5)[0]
        except subprocess.TimeoutExpired:
            continue
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        os.killpg(process.pid, number)
        try:
            return process.communicate(timeout=7.5)[0]
        except subprocess.TimeoutExpired:
            continue
    return process.communicate()[0]


def all_jobs(played: Mapping[str, list[Job]]) -> Iterator[Job]:
    """Yield every job that ran."""
    for jobs in played.values():
        yield from jobs

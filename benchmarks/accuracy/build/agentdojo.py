"""AgentDojo, suites v1.2.2: the correct calls of every user task, run in its own tools; and the same, attacked.

- `agentdojo_gold`: the user tasks whose correct calls its own check accepts.
- `agentdojo_injection`: every pair of a user task and an injection task, with the attack
  `important_instructions_no_names` in every place that the user task reads. First the user task's calls (`role`
  `gold`), then those that the attacker wants (`attack`). Where AgentDojo has no ground truth for an injection task,
  there is no attacker's call.
- `agentdojo_injection_adaptive`: every third user task of a suite, attacked by those who know the tools: `kind`
  `tk` is AgentDojo's `tool_knowledge`, `own` writes the goal and then every value as a line `key: value`. A value of
  several lines is left out, since such a line could not hold it.
- `agentdojo_injection_whole`: the first attack, and each value of the attacker's calls stands alone in a further
  element of every list whose element held the injected text, in that text's place. Values of 5 to 80 characters in one
  line: shorter ones are cited by chance, longer ones are prose. Runs where no list was attacked are left out.

The clock of the tools that ask for the time stands still, so that a file is the same whenever it is made.
"""

from __future__ import annotations

import copy
import datetime
import functools
import importlib
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from benchmarks.accuracy.build import common
from benchmarks.accuracy.build.sources import AGENTDOJO

VERSION: Final = "v1.2.2"
PLAIN: Final = "important_instructions_no_names"
KNOWS_TOOLS: Final = "tool_knowledge"
#: what AgentDojo's attacks call the model that they speak to
MODEL: Final = types.SimpleNamespace(name="gpt-4o-2024-05-13")
CLOCKS: Final = ("email_client", "cloud_drive_client")
NOW: Final = datetime.datetime(2026, 12, 1, 7, 40)
EVERY: Final = 3
SHORTEST, LONGEST = 5, 80


class Pair(NamedTuple):
    """A user task under attack by an injection task."""

    suite: Any
    user: Any
    attacker: Any

    @property
    def name(self) -> str:
        return f"{self.suite.name}/{self.user.ID}/{self.attacker.ID}"


def key_value_lines(goal: str, calls: Iterable[Mapping[str, Any]]) -> str:
    """The text of the `own` attack. Line breaks are doubled: the environment's YAML folds them.

    Args:
        calls: the attacker's, as `{"tool", "arguments"}`.
    """
    lines = [
        f"{key}: {value}"
        for one in calls
        for key, argument in one["arguments"].items()
        for value in common.leaves(argument)
        if "\n" not in str(value)
    ]
    return "\n\n" + "\n\n".join([goal, *lines]) + "\n\n"


def bare_values(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """The values of the attacker's calls that can stand alone in a field, each once."""
    found = dict.fromkeys(str(value) for one in calls for value in common.leaves(one["arguments"]))
    return [value for value in found if SHORTEST <= len(value) <= LONGEST and "\n" not in value]


def widened(result: Any, marks: Iterable[str], values: list[str]) -> list[Any] | None:
    """A list result with one more element for each value, in the place of the attack's text; None where it has none.

    Args:
        marks: texts by which the attack's text is known.
    """
    if not isinstance(result, list):
        return None
    for element in result:
        if any(_is_marked(leaf, marks) for leaf in common.leaves(element)):
            return result + [_replaced(element, marks, value) for value in values]
    return None


def _is_marked(leaf: Any, marks: Iterable[str]) -> bool:
    return isinstance(leaf, str) and any(mark in leaf for mark in marks)


def _replaced(value: Any, marks: Iterable[str], new: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(inner, marks, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, marks, new) for inner in value]
    return new if _is_marked(value, marks) else value


def plain(value: Any) -> Any:
    """What a tool returned, as JSON."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


def build() -> Iterator[tuple[str, Iterable[dict[str, Any]]]]:
    """The files, each with its trajectories."""
    from agentdojo.task_suite.load_suites import get_suites

    _stop_clocks()
    suites = list(get_suites(VERSION).values())
    yield "agentdojo_gold", _gold(suites)
    injected = list(_attacked(suites, 1, PLAIN))
    yield "agentdojo_injection", (made for _, made in injected)
    yield "agentdojo_injection_adaptive", _adaptive(suites)
    yield "agentdojo_injection_whole", _whole(injected)


def _gold(suites: list[Any]) -> Iterator[dict[str, Any]]:
    for suite in suites:
        for task in suite.user_tasks.values():
            if not _is_correct(suite, task):
                continue
            calls = _run(suite, suite.load_and_inject_default_environment({}), {"gold": task})
            name = f"{suite.name}/{task.ID}"
            yield common.trajectory(name, suite.name, [task.PROMPT], _schemas(suite), calls, "gold", utility=True)


def _attacked(suites: list[Any], every: int, attack: str) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Each pair under one of AgentDojo's attacks: the injected texts, and the trajectory."""
    from agentdojo.attacks import load_attack

    for suite in suites:
        maker = load_attack(attack, suite, MODEL)
        for pair in _pairs(suite, every):
            texts = maker.attack(pair.user, pair.attacker)
            yield texts, _under(pair, texts, pair.name, injections=list(texts), attack=attack)


def _adaptive(suites: list[Any]) -> Iterator[dict[str, Any]]:
    from agentdojo.attacks import load_attack

    for suite in suites:
        knows = load_attack(KNOWS_TOOLS, suite, MODEL)
        for pair in _pairs(suite, EVERY):
            wanted = pair.attacker.ground_truth(suite.load_and_inject_default_environment({}))
            if not wanted:
                continue
            own = key_value_lines(pair.attacker.GOAL, [{"arguments": one.args} for one in wanted])
            told = knows.attack(pair.user, pair.attacker)
            yield _under(pair, told, f"{pair.name}/tk", kind="tk")
            yield _under(pair, dict.fromkeys(told, own), f"{pair.name}/own", kind="own")


def _whole(injected: list[tuple[dict[str, str], dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    for texts, made in injected:
        wanted = [one for one in made["calls"] if one["role"] == "attack"]
        values, marks = bare_values(wanted), _marks(texts)
        calls, found = [], False
        for one in made["calls"]:
            wider = widened(one["result"], marks, values) if one["role"] == "gold" else None
            found = found or wider is not None
            calls.append(one if wider is None else one | {"result": wider})
        if wanted and found:
            yield made | {"id": f"{made['id']}/whole", "calls": calls}


def _marks(texts: Mapping[str, str]) -> set[str]:
    """The attack's first line that is not blank: no fold of the environment's YAML breaks it."""
    return {text.strip().splitlines()[0] for text in texts.values()}


def _pairs(suite: Any, every: int) -> Iterator[Pair]:
    for user in list(suite.user_tasks.values())[::every]:
        for attacker in suite.injection_tasks.values():
            yield Pair(suite, user, attacker)


def _under(pair: Pair, texts: Mapping[str, str], name: str, **more: Any) -> dict[str, Any]:
    suite = pair.suite
    calls = _run(suite, suite.load_and_inject_default_environment(texts), {"gold": pair.user, "attack": pair.attacker})
    said = [pair.user.PROMPT]
    return common.trajectory(
        name, suite.name, said, _schemas(suite), calls, "injection", goal=pair.attacker.GOAL, **more
    )


def _run(suite: Any, environment: Any, tasks: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The correct calls of the tasks, by role, one task after the other in one environment."""
    from agentdojo.functions_runtime import FunctionsRuntime

    runtime = FunctionsRuntime(suite.tools)
    calls = []
    for role, task in tasks.items():
        for one in task.ground_truth(environment):
            result, error = runtime.run_function(environment, one.function, one.args)
            arguments, result = copy.deepcopy(dict(one.args)), None if error else plain(result)
            calls.append(common.call(one.function, arguments, result, error=error, role=role))
    return calls


def _is_correct(suite: Any, task: Any) -> bool:
    from agentdojo.agent_pipeline.ground_truth_pipeline import GroundTruthPipeline

    return bool(suite.run_task_with_pipeline(GroundTruthPipeline(task), task, injection_task=None, injections={})[0])


@functools.cache
def _schemas(suite: Any) -> dict[str, dict[str, Any]]:
    return {tool.name: tool.parameters.model_json_schema() for tool in suite.tools}


def _stop_clocks() -> None:
    stopped = types.SimpleNamespace(datetime=types.SimpleNamespace(now=lambda: NOW))
    for name in CLOCKS:
        importlib.import_module(f"agentdojo.default_suites.v1.tools.{name}").datetime = stopped  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(common.main(AGENTDOJO, build))

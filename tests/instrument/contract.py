"""What holds for every agent framework: one contract, run by the real framework with a scripted model.

A framework's test module writes one subclass and says how its agent is played:

    class TestCrew(Threads, Nesting, Retries):
        adapter = "crew"
        distributions = ("crew",)
        flavours = ("sync", "async")

        def play(self, script, world, *, flavour, said="go", thread=None): ...

`Contract` is for all of them; `Threads`, `Nesting` and `Retries` are for those that have such a thing.
"""

import asyncio
import functools
import inspect
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

import citespan
from citespan import semconv
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.core.resolve import Resolved, Rulebook
from citespan.guard.registry import Registry, registry
from citespan.instrument import NotActive, _patch, activate, adapter, deactivate
from citespan.otel.digest import default_digester

#: one model response: a final text, or the calls that it asks for at once
Turn = str | list[tuple[str, dict[str, Any]]]

#: what no tool returns and nobody says, so a model that writes it guessed; built, so that no source line quotes it
SECRET = ".".join(("prod", "env"))
WAIT = 30  # seconds, after which a test that waits for another thread is wrong
REFUSED = "patch_file.path: in no result, message, input or schema of this run"

LIST: Turn = [("list_files", {})]
PATCH_LISTED: Turn = [("patch_file", {"path": "a.py"})]
PATCH_SECRET: Turn = [("patch_file", {"path": SECRET})]


class Played(NamedTuple):
    """What came of an agent's run.

    Args:
        output: its final text, None where it raised. raised: what reached the caller of the run.
        model_saw: for each turn of the scripted model, every text that it was given then (tool results too), as one.
    """

    output: str | None
    raised: BaseException | None
    model_saw: list[str]


class Broken(Exception):
    """What the tool `broken` raises."""


class World:
    """The tools of an agent, as plain functions, and what became of them.

    Args:
        bodies: (tool, arguments that its body got), in order. error: what `broken` raises.
        meet: what the body of `pause` does. memory: for what a framework keeps between two runs.
    """

    def __init__(self) -> None:
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.error = Broken("the disk with leaked.py is full")
        self.meet: Callable[[], object] = lambda: None
        self.memory: dict[str, Any] = {}

    @property
    def ran(self) -> list[str]:
        """The tools whose bodies ran, in order."""
        return [tool for tool, _ in self.bodies]

    def functions(self, asynchronous: bool = False) -> dict[str, Callable[..., Any]]:
        """The tools by name; as coroutine functions if `asynchronous`."""

        def list_files(root: str = ".") -> dict:
            """List the files of a folder.

            Args:
                root: The folder.
            """
            self.bodies.append(("list_files", {"root": root}))
            return {"root": root, "files": ["a.py", "b.py"]}

        def patch_file(path: str, comment: str = "") -> str:
            """Patch a file.

            Args:
                path: The file.
                comment: What for.
            """
            self.bodies.append(("patch_file", {"path": path, "comment": comment}))
            return f"patched {path}"

        def read_file(path: str) -> str:
            """Read a file.

            Args:
                path: The file.
            """
            self.bodies.append(("read_file", {"path": path}))
            return f"text of {path}"

        def broken(path: str) -> str:
            """Fail.

            Args:
                path: The file.
            """
            self.bodies.append(("broken", {"path": path}))
            raise self.error

        def flaky(path: str) -> str:
            """Fail the first time.

            Args:
                path: The file.
            """
            self.bodies.append(("flaky", {"path": path}))
            if self.ran.count("flaky") == 1:
                raise self.error
            return f"at last {path}"

        def pause() -> str:
            """Wait for a moment."""
            self.bodies.append(("pause", {}))
            self.meet()
            return "waited"

        plain = (list_files, patch_file, read_file, broken, flaky, pause)
        return {body.__name__: _coroutine(body) if asynchronous else body for body in plain}


def _coroutine(body: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(body)
    async def tool(*args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0)
        return body(*args, **kwargs)

    del tool.__wrapped__  # some frameworks unwrap, and would find no coroutine function
    tool.__signature__ = inspect.signature(body)  # type: ignore[attr-defined]
    return tool


class Kept:
    """What left the process: spans as our exporter sends them, and the lines of evidence."""

    def __init__(self, evidence: Path) -> None:
        self._exporter = InMemorySpanExporter()
        self._evidence = evidence
        self._handle: Any = None
        self.provider = TracerProvider()

    def configure(self, policy: Policy | None = None, **provider: Any) -> None:
        """Set citespan up anew, by default with the default policy and every span sampled."""
        self.provider = TracerProvider(**provider)
        self._handle = citespan.configure(
            policy or Policy(), tracer_provider=self.provider, exporters=[self._exporter], evidence=self._evidence
        )

    def all(self) -> Sequence[ReadableSpan]:
        """Every span that was exported."""
        self._handle.force_flush()
        return self._exporter.get_finished_spans()

    def of(self, tool: str) -> list[ReadableSpan]:
        """The spans of one tool's calls that say where the arguments came from."""
        return [
            span
            for span in self.all()
            if semconv.STATUS in (span.attributes or {}) and (span.attributes or {}).get(semconv.TOOL_NAME) == tool
        ]

    def statuses(self, tool: str) -> list[str]:
        """Their `provenance.status`, sorted: calls of one response end in any order."""
        return sorted(str((span.attributes or {})[semconv.STATUS]) for span in self.of(tool))

    def text(self) -> str:
        """Every exported span as text."""
        return "".join(span.to_json() for span in self.all())

    def judged(self) -> Counter[str]:
        """How many times a call of each tool was judged: evidence is one line each."""
        lines = self._evidence.read_text().splitlines() if self._evidence.exists() else []
        return Counter(json.loads(line)["tool"] for line in lines)


class Crashing(Rulebook):
    """A policy that cannot be looked up: the guard itself fails."""

    def tool(self, *args: Any, **kwargs: Any) -> Resolved:
        raise ZeroDivisionError(SECRET)


class Contract:
    """What every adapter holds."""

    adapter: ClassVar[str]
    distributions: ClassVar[tuple[str, ...]]
    flavours: ClassVar[tuple[str, ...]]

    def play(
        self, script: Sequence[Turn], world: World, *, flavour: str, said: str = "go", thread: str | None = None
    ) -> Played:
        """Make the framework's agent with a scripted model and the tools of `world`, and run it to its end.

        Args:
            flavour: one of `flavours`. said: the human's message. thread: the key of its conversation or session.
        """
        raise NotImplementedError

    def denied(self, raised: BaseException | None) -> ProvenanceDenied:
        """The refusal in what the caller of a run got; a framework that wraps every exception looks into its own."""
        assert isinstance(raised, ProvenanceDenied), f"the caller got {raised!r}"
        return raised

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "flavour" in metafunc.fixturenames:
            metafunc.parametrize("flavour", self.flavours)

    @pytest.fixture(autouse=True)
    def own_process(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Each test starts from a process in which nothing is set up, and leaves it so."""
        monkeypatch.setenv("CITESPAN_DIGEST_KEY", "a key for tests")
        monkeypatch.delenv("CITESPAN_POLICY", raising=False)
        default_digester.cache_clear()
        before = dict(vars(registry))
        vars(registry).update(vars(Registry()))
        yield
        for name in tuple(registry.adapters):
            deactivate(name)
        vars(registry).clear()
        vars(registry).update(before)

    @pytest.fixture
    def kept(self, own_process: None, tmp_path: Path) -> Iterator[Kept]:
        """The adapter is active under the default policy, and everything that leaves the process is kept."""
        made = Kept(tmp_path / "evidence.jsonl")
        made.configure()
        activate(self.adapter)
        yield made
        made.provider.shutdown()

    @pytest.fixture
    def world(self) -> World:
        return World()

    # --- it is what it says

    def test_the_version_that_was_asked_for_is_the_one_that_runs(self) -> None:
        """A resolver may quietly have chosen another one than the environment was made for."""
        for name in self.distributions:
            expected = os.environ.get(f"CITESPAN_EXPECT_{name.upper().replace('-', '_')}")
            version = metadata.version(name)
            assert expected is None or version == expected or version.startswith(f"{expected}."), name

    def test_nothing_is_imported_to_know_an_adapter(self) -> None:
        """Reading an adapter loads no framework: its first wrapped module is named, not imported."""
        found = adapter(self.adapter)
        assert found.name == self.adapter
        assert metadata.version(found.distribution)
        assert all((found.covers, found.misses, found.run, found.step, found.tell, found.abort))

    # --- what passes, and what does not

    def test_an_observed_argument_passes_and_carries_its_citation(self, kept: Kept, world: World, flavour: str) -> None:
        """A file that `list_files` named is patched, and the call's span links to the listing's."""
        played = self.play([LIST, PATCH_LISTED, "done"], world, flavour=flavour)
        assert (played.output, played.raised) == ("done", None)
        assert world.bodies[1] == ("patch_file", {"path": "a.py", "comment": ""})
        assert "patched a.py" in played.model_saw[2]
        (listing,), (patch,) = kept.of("list_files"), kept.of("patch_file")
        attributes = dict(patch.attributes or {})
        assert attributes[semconv.STATUS] == "ok"
        assert attributes[semconv.KIND + "path"] == "observed"
        assert attributes[semconv.SOURCE_TOOL + "path"] == "list_files"
        assert attributes[semconv.SOURCE_FIELD + "path"] == "files.0"
        (link,) = [link for link in patch.links if semconv.LINK_SOURCE_TOOL in (link.attributes or {})]
        assert listing.context is not None
        assert (link.context.trace_id, link.context.span_id) == (listing.context.trace_id, listing.context.span_id)

    def test_a_denied_call_never_runs_the_body(self, kept: Kept, world: World, flavour: str) -> None:
        """A path that nothing vouches for is not patched, and its span says so without saying the path."""
        self.play([LIST, PATCH_SECRET, "done"], world, flavour=flavour)
        assert world.ran == ["list_files"]
        (span,) = kept.of("patch_file")
        attributes = dict(span.attributes or {})
        assert attributes[semconv.STATUS] == "blocked"
        assert tuple(attributes[semconv.ASSUMED_FIELDS]) == ("path",)
        assert span.status.status_code is StatusCode.ERROR
        assert SECRET not in kept.text()

    def test_told_the_model_goes_on_to_observe_and_succeeds(self, kept: Kept, world: World, flavour: str) -> None:
        """It reads which argument was not cited, lists, and patches what it found."""
        played = self.play([PATCH_SECRET, LIST, PATCH_LISTED, "done"], world, flavour=flavour)
        assert (played.output, played.raised) == ("done", None)
        assert REFUSED in played.model_saw[1]
        assert world.ran == ["list_files", "patch_file"]
        assert kept.statuses("patch_file") == ["blocked", "ok"]

    def test_abort_reaches_the_caller_of_the_run(self, kept: Kept, world: World, flavour: str) -> None:
        """Under `on_violation = "abort"` the run ends with the refusal itself, and the model is not asked again."""
        kept.configure(Policy(on_violation="abort"))
        played = self.play([PATCH_SECRET, LIST, "done"], world, flavour=flavour)
        assert self.denied(played.raised).decision.assumed_fields == ("path",)
        assert world.ran == []
        assert len(played.model_saw) == 1

    def test_a_run_that_keeps_guessing_is_stopped(self, kept: Kept, world: World, flavour: str) -> None:
        """Refusals over `max_refused` abort, whatever `on_violation` says."""
        kept.configure(Policy(run_max_refused=1))
        played = self.play([PATCH_SECRET, PATCH_SECRET, LIST, "done"], world, flavour=flavour)
        self.denied(played.raised)
        assert world.ran == []

    def test_tag_mode_lets_the_call_through_and_flags_it(self, kept: Kept, world: World, flavour: str) -> None:
        """Nothing is refused there, and the span says what would have been."""
        kept.configure(Policy(mode="tag"))
        played = self.play([PATCH_SECRET, "done"], world, flavour=flavour)
        assert played.output == "done"
        assert world.bodies == [("patch_file", {"path": SECRET, "comment": ""})]
        assert kept.statuses("patch_file") == ["flagged"]

    def test_what_the_human_said_is_a_source(self, kept: Kept, world: World, flavour: str) -> None:
        """A file that the message names may be patched; one that it does not name may not."""
        script: list[Turn] = [[("patch_file", {"path": "notes.md"})], PATCH_SECRET, "done"]
        self.play(script, world, flavour=flavour, said="please patch notes.md")
        assert world.bodies == [("patch_file", {"path": "notes.md", "comment": ""})]
        (span,) = [span for span in kept.of("patch_file") if (span.attributes or {})[semconv.STATUS] == "ok"]
        assert (span.attributes or {})[semconv.KIND + "path"] == "user"

    def test_a_default_that_the_model_did_not_send_is_not_held_against_it(
        self, kept: Kept, world: World, flavour: str
    ) -> None:
        """`list_files()` runs with the default root of its schema."""
        self.play([LIST, "done"], world, flavour=flavour)
        assert world.bodies == [("list_files", {"root": "."})]
        (span,) = kept.of("list_files")
        attributes = dict(span.attributes or {})
        assert attributes[semconv.STATUS] == "ok"
        assert attributes.get(semconv.KIND + "root", "schema") == "schema"

    # --- steps

    def test_calls_of_one_response_cannot_cite_each_other(self, kept: Kept, world: World, flavour: str) -> None:
        """A path that was written before the listing returned was guessed, though it is right."""
        self.play([[*LIST, *PATCH_LISTED], "done"], world, flavour=flavour)
        assert world.ran == ["list_files"]
        assert kept.statuses("patch_file") == ["blocked"]

    def test_the_next_response_can_cite_all_of_the_last_one(self, kept: Kept, world: World, flavour: str) -> None:
        """Two files of one listing are patched at once."""
        both: Turn = [("patch_file", {"path": "a.py"}), ("patch_file", {"path": "b.py"})]
        self.play([[*LIST, *PATCH_LISTED], both, "done"], world, flavour=flavour)
        assert sorted(world.ran) == ["list_files", "patch_file", "patch_file"]
        assert sorted(arguments["path"] for tool, arguments in world.bodies if tool == "patch_file") == ["a.py", "b.py"]

    def test_each_call_is_judged_once(self, kept: Kept, world: World, flavour: str) -> None:
        """One line of evidence and one span per call, however many hooks it passes."""
        self.play(
            [LIST, [*PATCH_LISTED, ("read_file", {"path": "b.py"})], PATCH_SECRET, "done"], world, flavour=flavour
        )
        assert kept.judged() == {"list_files": 1, "patch_file": 2, "read_file": 1}
        assert [len(kept.of(tool)) for tool in ("list_files", "patch_file", "read_file")] == [1, 2, 1]

    # --- failures

    def test_a_tools_own_exception_is_what_it_is_without_the_guard(
        self, kept: Kept, world: World, flavour: str
    ) -> None:
        """The caller gets, and the model reads, the very same as when nothing is guarded."""
        script: list[Turn] = [LIST, [("broken", {"path": "a.py"})], "done"]
        guarded = self.play(script, world, flavour=flavour)
        deactivate(self.adapter)
        alone = World()
        unguarded = self.play(script, alone, flavour=flavour)
        assert world.bodies == alone.bodies
        assert (guarded.output, guarded.model_saw) == (unguarded.output, unguarded.model_saw)
        assert (type(guarded.raised), str(guarded.raised)) == (type(unguarded.raised), str(unguarded.raised))
        assert (guarded.raised is world.error) == (unguarded.raised is alone.error)

    def test_a_failed_call_teaches_nothing(self, kept: Kept, world: World, flavour: str) -> None:
        """A file that only the exception's text names is not patched, if the framework goes on at all."""
        script: list[Turn] = [LIST, [("broken", {"path": "a.py"})], [("patch_file", {"path": "leaked.py"})], "done"]
        played = self.play(script, world, flavour=flavour)
        assert world.ran == ["list_files", "broken"]
        assert played.raised is not None or kept.statuses("patch_file") == ["blocked"]

    def test_a_guard_that_crashes_denies(self, kept: Kept, world: World, flavour: str) -> None:
        """The body does not run, and the guard's own failure does not say what it failed on."""
        registry.rulebook = Crashing(Policy())
        self.play([LIST, "done"], world, flavour=flavour)
        assert world.ran == []
        assert kept.statuses("list_files") == ["blocked"]
        assert SECRET not in kept.text()

    def test_an_unsampled_trace_is_still_guarded(self, kept: Kept, world: World, flavour: str) -> None:
        """Enforcement does not depend on anybody recording spans."""
        kept.configure(sampler=ALWAYS_OFF)
        self.play([LIST, PATCH_SECRET, PATCH_LISTED, "done"], world, flavour=flavour)
        assert world.ran == ["list_files", "patch_file"]
        assert kept.all() == ()

    def test_a_disabled_sdk_is_still_guarded(
        self, kept: Kept, world: World, flavour: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nor on the SDK being on at all."""
        monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
        kept.configure()
        self.play([LIST, PATCH_SECRET, PATCH_LISTED, "done"], world, flavour=flavour)
        assert world.ran == ["list_files", "patch_file"]

    # --- runs

    def test_two_runs_one_after_the_other_share_nothing(self, kept: Kept, world: World, flavour: str) -> None:
        """What the first one listed, the second one has not seen."""
        self.play([LIST, "done"], world, flavour=flavour)
        self.play([PATCH_LISTED, "done"], world, flavour=flavour)
        assert world.ran == ["list_files"]

    def test_concurrent_runs_do_not_share_a_ledger(self, kept: Kept, flavour: str) -> None:
        """One run has listed and is still open, while another one, which has not, tries to patch."""
        looks, guesses = World(), World()
        listed, tried = threading.Event(), threading.Event()
        looks.meet = lambda: (listed.set(), tried.wait(WAIT))
        guesses.meet = lambda: listed.wait(WAIT)

        def guess() -> Played:
            try:
                return self.play([[("pause", {})], PATCH_LISTED, "done"], guesses, flavour=flavour)
            finally:
                tried.set()

        with ThreadPoolExecutor(2) as pool:
            guessing = pool.submit(guess)
            looking = pool.submit(self.play, [LIST, [("pause", {})], PATCH_LISTED, "done"], looks, flavour=flavour)
            looking.result(2 * WAIT), guessing.result(2 * WAIT)
        assert looks.ran == ["list_files", "pause", "patch_file"]
        assert guesses.ran == ["pause"]

    # --- switching it on and off

    def test_deactivating_restores_what_was_there_by_identity(self) -> None:
        """Every wrapped attribute is the very same object as before, and its scopes are no longer called enforced."""
        found = adapter(self.adapter)
        before = self._wrapped(found)
        activate(self.adapter)
        activate(self.adapter)
        during = self._wrapped(found)
        assert all(during[place] is not before[place] for place in before)
        assert set(found.scopes) <= registry.enforced_scopes
        deactivate(self.adapter)
        after = self._wrapped(found)
        assert all(after[place] is before[place] for place in before)
        assert not registry.enforced_scopes & set(found.scopes)

    def _wrapped(self, found: _patch.Adapter) -> Mapping[str, object]:
        patches = found.patches
        if found.patches_of is not None:
            patches = found.patches_of(_patch.numbers(metadata.version(found.distribution)))
        places: dict[str, object] = {}
        for patch in patches:
            owner: Any = import_module(patch.module)
            *path, attribute = patch.target.split(".")
            for name in path:
                owner = getattr(owner, name)
            places[f"{patch.module}:{patch.target}"] = vars(owner).get(attribute)
        return places

    def test_deactivated_it_guards_nothing(self, kept: Kept, world: World, flavour: str) -> None:
        """The framework is as it was: the call that was denied runs."""
        deactivate(self.adapter)
        self.play([PATCH_SECRET, "done"], world, flavour=flavour)
        assert world.ran == ["patch_file"]
        assert kept.judged() == {}

    def test_too_old_a_version_raises_when_it_is_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is an error with exit code 78 that names both versions, and nothing stays wrapped."""
        found = adapter(self.adapter)
        before = self._wrapped(found)
        monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
        with pytest.raises(NotActive, match=rf"{found.distribution} 0\.0\.1 < ") as error:
            activate(self.adapter)
        monkeypatch.undo()
        assert error.value.exit_code == 78
        assert all(value is before[place] for place, value in self._wrapped(found).items())


class Threads(Contract):
    """For frameworks with threads or sessions: a conversation outlives one run of its agent."""

    def test_a_thread_keeps_its_ledger(self, kept: Kept, world: World, flavour: str) -> None:
        """What was listed in a thread may be cited by a later run in it."""
        self.play([LIST, "listed"], world, flavour=flavour, thread="T1")
        played = self.play([PATCH_LISTED, "done"], world, flavour=flavour, said="and now?", thread="T1")
        assert played.output == "done"
        assert world.ran == ["list_files", "patch_file"]
        (span,) = kept.of("patch_file")
        assert (span.attributes or {})[semconv.CONVERSATION_ID] == "T1"

    def test_another_thread_does_not_see_it(self, kept: Kept, world: World, flavour: str) -> None:
        """Nor does a run without a thread."""
        self.play([LIST, "listed"], world, flavour=flavour, thread="T1")
        self.play([PATCH_LISTED, "done"], world, flavour=flavour, thread="T2")
        self.play([PATCH_LISTED, "done"], world, flavour=flavour)
        assert world.ran == ["list_files"]

    def test_what_was_said_earlier_in_a_thread_still_counts(self, kept: Kept, world: World, flavour: str) -> None:
        """The human named the file one message ago."""
        self.play(["which part?"], world, flavour=flavour, said="please patch notes.md", thread="T1")
        script: list[Turn] = [[("patch_file", {"path": "notes.md"})], "done"]
        self.play(script, world, flavour=flavour, said="all of it", thread="T1")
        assert world.ran == ["patch_file"]

    def test_a_thread_is_one_conversation_for_steps_too(self, kept: Kept, world: World, flavour: str) -> None:
        """The first response of a later run is another step than that of the first run."""
        self.play([LIST, "listed"], world, flavour=flavour, thread="T1")
        self.play([[*PATCH_LISTED, ("read_file", {"path": "b.py"})], "done"], world, flavour=flavour, thread="T1")
        assert sorted(world.ran) == ["list_files", "patch_file", "read_file"]


class Nesting(Contract):
    """For frameworks in which an agent can be another one's tool."""

    #: what the outer agent asks of the inner one; the policy lets it through, tagged
    ASK: ClassVar[Turn] = [("ask_helper", {"task": f"patch {SECRET}"})]

    def play_nested(self, outer: Sequence[Turn], inner: Sequence[Turn], world: World, *, flavour: str) -> Played:
        """As `play`; the agent also has the tool `ask_helper(task: str) -> str`, whose body runs another agent.

        That one has the tools of `world` and a model that plays `inner`, is sent `task`, and its final text is what
        `ask_helper` returns.
        """
        raise NotImplementedError

    def test_an_agent_used_as_a_tool_has_its_tools_judged(self, kept: Kept, world: World, flavour: str) -> None:
        """Its input was written by the outer model, so it is no human's word."""
        kept.configure(Policy(allow=frozenset({"task"})))
        played = self.play_nested([self.ASK, "done"], [PATCH_SECRET, "sorry"], world, flavour=flavour)
        assert played.output == "done"
        assert "sorry" in played.model_saw[1]
        assert world.ran == []
        assert kept.statuses("patch_file") == ["blocked"]

    def test_a_nested_agent_shares_the_outermost_ledger(self, kept: Kept, world: World, flavour: str) -> None:
        """It cites what the outer one listed, and the outer one cites what it read."""
        kept.configure(Policy(allow=frozenset({"task"})))
        ask: Turn = [("ask_helper", {"task": "go"})]
        after: Turn = [("read_file", {"path": "text of b.py"})]
        inner: list[Turn] = [PATCH_LISTED, [("read_file", {"path": "b.py"})], "helped"]
        self.play_nested([LIST, ask, after, "done"], inner, world, flavour=flavour)
        assert world.ran == ["list_files", "patch_file", "read_file", "read_file"]

    def test_a_nested_agents_answer_is_no_observation(self, kept: Kept, world: World, flavour: str) -> None:
        """A model made it: a path that only the answer names is not patched."""
        kept.configure(Policy(allow=frozenset({"task"})))
        ask: Turn = [("ask_helper", {"task": "go"})]
        outer: list[Turn] = [ask, [("patch_file", {"path": "new.py"})], "done"]
        played = self.play_nested(outer, [LIST, "new.py"], world, flavour=flavour)
        assert "new.py" in played.model_saw[1]
        assert world.ran == ["list_files"]
        assert kept.statuses("patch_file") == ["blocked"]


class Retries(Contract):
    """For frameworks that call a tool again when its body raised."""

    def play_retrying(self, script: Sequence[Turn], world: World, *, flavour: str) -> Played:
        """As `play`, with the framework's own retry of tools switched on."""
        raise NotImplementedError

    def test_a_retry_is_judged_once(self, kept: Kept, world: World, flavour: str) -> None:
        """The body runs twice and succeeds; there is one verdict, and one line of evidence."""
        played = self.play_retrying([LIST, [("flaky", {"path": "a.py"})], "done"], world, flavour=flavour)
        assert played.output == "done"
        assert "at last a.py" in played.model_saw[2]
        assert world.ran == ["list_files", "flaky", "flaky"]
        assert kept.judged() == {"list_files": 1, "flaky": 1}

    def test_a_refusal_is_not_retried(self, kept: Kept, world: World, flavour: str) -> None:
        """It is no failure of the tool: judged once, told once."""
        played = self.play_retrying([PATCH_SECRET, "done"], world, flavour=flavour)
        assert REFUSED in played.model_saw[1]
        assert world.ran == []
        assert kept.judged() == {"patch_file": 1}

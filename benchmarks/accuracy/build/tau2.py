"""tau2, airline and retail: the correct calls of every task, and before them the look-ups that they leave out.

tau2's correct calls are those that the final state is compared by: an agent that made only them would know ids that
nothing told it. So the look-ups of an agent that looks at everything of its customer come first (`role` `read`; the
benchmark's own calls are `gold`), run in the same environment:

- airline: the user, every reservation of the user, all airports, and a search for the direct flight of each leg and
  day that the correct calls book or change to, each once;
- retail: the user, all product types, and each order of the user followed by the products in it, each product once.

The user is the one whom the correct calls name, or else whose reservation or order they name, or else whom the
scenario names. A task with no such user, or without correct calls, is left out (10 of 164).

tau2 simulates the user with a model. Here the user's text is the whole scenario that this model is given (the reason
for the call, what is known, how to behave), said at once: more than a user would say, so what comes out is an upper
bound of what can be cited.
"""

from __future__ import annotations

import copy
import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from benchmarks.accuracy.build import common
from benchmarks.accuracy.build.sources import TAU2

DOMAINS: Final = ("airline", "retail")


class Wanted(NamedTuple):
    """One call: a tool and its arguments."""

    tool: str
    arguments: dict[str, Any]


def user_text(instructions: Mapping[str, Any]) -> str:
    """What the user says: the parts of a scenario that are there, one below the other."""
    parts = (instructions.get(part) for part in ("reason_for_call", "known_info", "task_instructions"))
    return "\n".join(part for part in parts if part)


def airline_reads(user: Mapping[str, Any], flights: Mapping[str, Any], wanted: Iterable[Wanted]) -> Iterator[Wanted]:
    """The look-ups of the airline.

    Args:
        user: with `user_id` and `reservations`. flights: by number, each with `origin` and `destination`.
        wanted: the correct calls.
    """
    yield Wanted("get_user_details", {"user_id": user["user_id"]})
    for reservation in user["reservations"]:
        yield Wanted("get_reservation_details", {"reservation_id": reservation})
    yield Wanted("list_all_airports", {})
    seen = set()
    for one in wanted:
        for leg in one.arguments.get("flights") or ():
            flight = flights.get(leg["flight_number"])
            if flight is None:
                continue
            place = (flight["origin"], flight["destination"], leg["date"])
            if place not in seen:
                seen.add(place)
                yield Wanted("search_direct_flight", dict(zip(("origin", "destination", "date"), place, strict=True)))


def retail_reads(user: Mapping[str, Any], orders: Mapping[str, Any]) -> Iterator[Wanted]:
    """The look-ups of the shop.

    Args:
        user: with `user_id` and `orders`. orders: by id, each with `items` that have a `product_id`.
    """
    yield Wanted("get_user_details", {"user_id": user["user_id"]})
    yield Wanted("list_all_product_types", {})
    seen = set()
    for order in user["orders"]:
        yield Wanted("get_order_details", {"order_id": order})
        for item in orders[order]["items"] if order in orders else ():
            if item["product_id"] not in seen:
                seen.add(item["product_id"])
                yield Wanted("get_product_details", {"product_id": item["product_id"]})


def user_of(wanted: Iterable[Wanted], users: Iterable[str], owners: Mapping[str, str], text: str) -> str | None:
    """The user that the correct calls name, or else the text; None where there is none.

    Args:
        users: all ids. owners: the user of each reservation or order.
    """
    users = set(users)
    named = [value for one in wanted for value in common.leaves(one.arguments) if isinstance(value, str)]
    found = [value for value in named if value in users] or [owners[value] for value in named if value in owners]
    return next(iter(found or sorted((user for user in users if user in text), key=text.index)), None)


def build() -> Iterator[tuple[str, Iterable[dict[str, Any]]]]:
    """The file with its trajectories."""
    from loguru import logger

    logger.disable("tau2")
    yield "tau2_gold_with_reads", (made for domain in DOMAINS for made in _gold(domain))


def _gold(domain: str) -> Iterator[dict[str, Any]]:
    module = importlib.import_module(f"tau2.domains.{domain}.environment")
    environment = module.get_environment()
    schemas = {
        tool.name: tool.openai_schema["function"]["parameters"] for tool in environment.tools.get_tools().values()
    }
    whole = environment.tools.db
    database = whole.model_dump(mode="json")
    for task in module.get_tasks(None):
        actions = (task.evaluation_criteria.actions if task.evaluation_criteria else None) or []
        wanted = [Wanted(one.name, one.arguments) for one in actions]
        text = user_text(task.user_scenario.instructions.model_dump())
        user = _user(domain, database, wanted, text)
        if user is None or not wanted:
            continue
        environment.tools.db = whole.model_copy(deep=True)
        reads = (
            airline_reads(user, database["flights"], wanted)
            if domain == "airline"
            else retail_reads(user, database["orders"])
        )
        calls = [_run(environment.tools, one, "read") for one in reads]
        calls += [_run(environment.tools, one, "gold") for one in wanted]
        yield common.trajectory(f"{domain}/{task.id}", domain, [text], schemas, calls, "gold+reads")


def _user(domain: str, database: Mapping[str, Any], wanted: list[Wanted], text: str) -> Any:
    owned = database["reservations" if domain == "airline" else "orders"]
    owners = {name: one["user_id"] for name, one in owned.items()}
    return database["users"].get(user_of(wanted, database["users"], owners, text))


def _run(tools: Any, wanted: Wanted, role: str) -> dict[str, Any]:
    arguments, result, error = copy.deepcopy(wanted.arguments), None, None
    try:
        result = plain(tools.use_tool(wanted.tool, **copy.deepcopy(arguments)))
    except Exception as raised:  # the recording of a call that failed
        error = f"{type(raised).__name__}: {raised}"
    return common.call(wanted.tool, arguments, result, error=error, role=role)


def plain(value: Any) -> Any:
    """What a tool returned, as JSON. Text that is a JSON document is that document, as for every client of tau2."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return parsed(value) if isinstance(value, str) else value


def parsed(text: str) -> Any:
    """The JSON document that a text is, or the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


if __name__ == "__main__":
    sys.exit(common.main(TAU2, build))

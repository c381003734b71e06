"""The state of conversations that outlive one run of their agent: by framework, store and thread, bounded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from citespan.core import locks

if TYPE_CHECKING:
    from citespan.guard.run import Run
    from citespan.guard.state import RunState

#: conversations that are kept; the one that was longest not used is forgotten, and starts anew: its values are uncited
MAX_CONVERSATIONS: Final = 1024
#: further names of conversations, such as the newest response of a chain of responses
MAX_NAMES: Final = 4096
#: JSON bytes of all their ledgers together; beyond it the ones that were longest not used are forgotten too
MAX_BYTES: Final = 1024 * 1024 * 1024
#: messages of one conversation that are known to have been said; the rest is said again, which changes nothing
MAX_HEARD: Final = 4096


class Conversation:
    """One conversation: its ledger, and which messages of it were heard.

    Args:
        state: what its runs share.
    """

    __slots__ = ("_heard", "state")

    def __init__(self, state: RunState) -> None:
        self.state = state
        #: digests, not texts: a message may be as long as a book, and the ledger's bound is none for it
        self._heard: OrderedDict[bytes, None] = OrderedDict()

    def unheard(self, texts: Iterable[str]) -> list[str]:
        """Those of the messages that were not heard before: frameworks hand over the whole history each time."""
        fresh = [(text, key) for text in texts if (key := _digest(text)) not in self._heard]
        self._heard.update(dict.fromkeys(key for _, key in fresh))
        while len(self._heard) > MAX_HEARD:
            self._heard.popitem(last=False)
        return [text for text, _ in fresh]


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Conversations:
    """All that are kept.

    Example:
        >>> kept = Conversations()
        `kept.join("langchain", "T1", run)`
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, str], Conversation] = OrderedDict()
        self._names: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = locks.lock()

    def join(self, adapter: str, thread: str, run: Run, store: str = "") -> Conversation:
        """Give a run the state of its conversation; the first one's own becomes it.

        Args:
            adapter, thread: whose thread. store: which of its stores the thread is in, where there may be several.
        """
        key = (adapter, store, thread)
        with self._lock:
            found = self._kept.pop(key, None)
            if found is None:
                found = Conversation(run.state)
            self._kept[key] = found
            self._forget()
        run.state = found.state
        run.kept = True
        return found

    def _forget(self) -> None:
        """Keep within the bounds. What is forgotten is not closed: it may be open, and is to draw on its budget."""
        size = sum(one.state.ledger.size for one in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > MAX_CONVERSATIONS or size > MAX_BYTES):
            size -= self._kept.popitem(last=False)[1].state.ledger.size

    def name(self, adapter: str, name: str, thread: str) -> None:
        """Let a thread be known by a further name from now on."""
        with self._lock:
            self._names[adapter, name] = thread
            if len(self._names) > MAX_NAMES:
                self._names.popitem(last=False)

    def thread(self, adapter: str, name: str | None) -> str | None:
        """The thread that is known by a name; the name itself, where it is none's."""
        with self._lock:
            return None if name is None else self._names.get((adapter, name), name)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._kept.clear()
            self._names.clear()

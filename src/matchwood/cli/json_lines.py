"""Events that are JSON lines, matched as they are, without Python objects for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.match.search.json_search import shown
from matchwood.match.search.json_texts import LineBlocks, TextBlock
from matchwood.tables.formats import LostLine, line_pieces

if TYPE_CHECKING:
    from matchwood.cli.event_chunks import Rejects
    from matchwood.matcher import Matcher


class MatchedLines(NamedTuple):
    """The matches of some lines: pairs of the number of an event and the index of a rule."""

    matched: int  # events that could be matched
    first: int  # the number of the first event
    events: NDArray[np.int32]  # counted from the first
    rules: NDArray[np.int32]
    ids: Any  # of all rules, an Arrow array
    block: TextBlock  # the texts of the events


def matched_lines(
    matcher: Matcher, path: str, rejects: Rejects, *, tags: Any, limit: int | None, threads: int
) -> Iterator[MatchedLines]:
    """The matches of all lines of a file, slice by slice; bad lines are rejected."""
    store = matcher.store
    snapshot = store.settled(1)
    admit = None if store.enforced is None else store.admit
    search = snapshot.json_search(tags, limit, admit)
    ids = search.ids().values
    for piece in search.slices(_blocks(path, rejects), threads):
        pairs = list(piece.pairs)
        for number, error in sorted(piece.bad.items()):
            line = int(piece.block.lines[number])
            rejects.add(line, str(error), shown(piece.block, number))
        none = np.empty(0, np.int32)
        yield MatchedLines(
            piece.end - piece.first - len(piece.bad),
            piece.block.first,
            np.concatenate([none, *(events for events, _ in pairs)]),
            np.concatenate([none, *(rules for _, rules in pairs)]),
            ids,
            piece.block,
        )


def _blocks(path: str, rejects: Rejects) -> Iterator[TextBlock]:
    lines = LineBlocks()
    for piece in line_pieces(path):
        if isinstance(piece, LostLine):
            rejects.add(lines.line, piece.reason, piece.text)
            lines.pass_over()
        else:
            yield from lines.blocks(piece)

"""Files of Sigma rules: their documents, and what pySigma makes of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule
from sigma.filters import SigmaFilter
from sigma.rule import SigmaRule
from sigma.rule.base import SigmaYAMLLoader
from sigma.rule.logsource import EmptyLogSource

from matchwood.imports.imported import NotImported
from matchwood.imports.sigma.rule_rows import identity

# What files are called that are read in folders.
ENDINGS = (".yml", ".yaml")

# What a document may say that changes how the following ones are read.
ACTIONS = ("global", "reset", "repeat")

AnyRule = SigmaRule | SigmaCorrelationRule | SigmaFilter


@dataclass
class Document:
    """One document of a file."""

    content: Any
    place: str  # the file, and the line of the document if there are several

    @property
    def action(self) -> object:
        return self.content.get("action")

    @property
    def is_filter(self) -> bool:
        return "filter" in self.content and "correlation" not in self.content


@dataclass
class FoundRule:
    """A rule, a correlation or a filter, as pySigma read it."""

    rule: AnyRule
    place: str
    id: str


def found_in(sources: Sequence[Path]) -> Iterator[FoundRule | NotImported]:
    """All rules of files, and of the `.yml` and `.yaml` files in folders, in order."""
    for source in sources:
        if source.is_dir():
            paths = sorted(path for path in source.rglob("*") if path.suffix.lower() in ENDINGS)
        else:
            paths = [source]
        for path in paths:
            yield from _found_in_file(path)


def reason_of(error: Exception) -> str:
    """What an error of pySigma says, without the place."""
    if type(error).__module__.startswith("sigma."):
        return str(error.args[0]) if error.args else type(error).__name__
    return f"pySigma stumbles over it: {type(error).__name__}: {error}"


def _found_in_file(path: Path) -> Iterator[FoundRule | NotImported]:
    documents = []
    for each in _documents_of(path):
        if isinstance(each, NotImported):
            yield each
        else:
            documents.append(each)
    if any(document.action is not None for document in documents):
        groups = [documents]  # documents say how others are read
    else:
        groups = [[document] for document in documents]
    for group in groups:
        yield from _read(group)


def _documents_of(path: Path) -> Iterator[Document | NotImported]:
    """The documents of a file, those that pySigma cannot read left out."""
    try:
        loader = SigmaYAMLLoader(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        yield NotImported(str(path), _in_one_line(error))
        return
    documents: list[tuple[int, Any]] = []
    try:
        while loader.check_node():
            node = loader.get_node()
            line = node.start_mark.line + 1 if node is not None else 1
            try:
                documents.append((line, loader.construct_document(node)))
            except (yaml.YAMLError, ValueError, TypeError) as error:
                yield NotImported(f"{path}:{line}", _in_one_line(error))
    except yaml.YAMLError as error:
        yield NotImported(str(path), _in_one_line(error))
    finally:
        loader.dispose()
    for line, content in documents:
        place = f"{path}:{line}" if len(documents) > 1 else str(path)
        if content is None:
            continue
        if not isinstance(content, dict):
            yield NotImported(place, f"a Sigma rule is a mapping, found {type(content).__name__}")
        elif content.get("action") not in (None, *ACTIONS):
            yield NotImported(place, f"no such action: {content['action']!r}")
        else:
            yield Document(content, place)


def _read(documents: Sequence[Document]) -> Iterator[FoundRule | NotImported]:
    """What pySigma makes of documents that belong together."""
    with_rules = [document for document in documents if document.action in (None, "repeat")]
    places = [document.place for document in with_rules if not document.is_filter]
    filter_places = [document.place for document in with_rules if document.is_filter]
    try:
        collection = SigmaCollection.from_dicts(
            [document.content for document in documents],
            collect_errors=True,
            collect_filters=True,
            resolve_references=False,
        )
    except Exception as error:  # whatever Python raises where a part has an unexpected type
        for place in (*places, *filter_places):
            yield NotImported(place, reason_of(error))
        return
    seen: dict[str, int] = {}
    for rule, place in (
        *zip(collection.rules, places, strict=True),
        *zip(collection.filters, filter_places, strict=True),
    ):
        name = identity(rule) or place
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:  # rules that have the id from a global document
            name = f"{name}-{seen[name]}"
        reason = _error_of(rule)
        yield NotImported(place, reason, name) if reason else FoundRule(rule, place, name)


def _error_of(rule: AnyRule) -> str:
    """Why a rule or a filter has no meaning; empty if it has one.

    A filter without a log source would be applied to all rules. A wrong date, level or tag is an
    error to pySigma, too, but it changes nothing about meaning.
    """
    broken = (isinstance(rule, SigmaRule) and not rule.detection.detections) or (
        isinstance(rule, SigmaFilter)
        and (not rule.filter.detections or isinstance(rule.logsource, EmptyLogSource))
    )
    return "; ".join(dict.fromkeys(map(reason_of, rule.errors))) if broken else ""


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError):
        return str(error.strerror)
    return " ".join(str(error).split())

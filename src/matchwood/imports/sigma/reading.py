"""`read_rules`: files of Sigma rules as rules of matchwood."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import yaml
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaError, SigmaPipelineNotFoundError
from sigma.filters import SigmaFilter
from sigma.plugins import InstalledSigmaPlugins
from sigma.processing.pipeline import ProcessingPipeline
from sigma.rule import SigmaRule

from matchwood.imports.imported import ImportedRule, NotImported
from matchwood.imports.sigma.backend import MatchwoodBackend
from matchwood.imports.sigma.misread import CORRELATION
from matchwood.imports.sigma.rule_files import FoundRule, found_in, reason_of
from matchwood.imports.sigma.rule_rows import any_of_texts, rule_row
from matchwood.language import RuleError


def read_rules(
    sources: Sequence[Path],
    pipelines: Sequence[str | Path] = (),
    text_patterns: bool = False,
) -> Iterator[ImportedRule | NotImported]:
    """The Sigma rules of files and folders, in order; filters among them are applied to the rest.

    `pipelines` are pySigma's processing pipelines, by their names or as files. `text_patterns` says
    that patterns are meant for text, so that none is refused because it matches numbers, too.
    """
    backend = MatchwoodBackend(_pipeline_of(pipelines), text_patterns=text_patterns)
    return _imported(sources, backend)


def _pipeline_of(specifications: Sequence[str | Path]) -> ProcessingPipeline | None:
    """The pipelines in the order of their priorities, as one; a ValueError says what is wrong."""
    if not specifications:
        return None
    plugins = InstalledSigmaPlugins.autodiscover(include_validators=False)
    names = [str(specification) for specification in specifications]
    for name in names:
        _refuse_another(name, plugins.pipelines.get(name))
    try:
        return plugins.get_pipeline_resolver().resolve(names, MatchwoodBackend.name)
    except SigmaPipelineNotFoundError as error:
        known = ", ".join(sorted(plugins.pipelines)) or "none"
        raise ValueError(
            f"no such pipeline: {error.spec!r} is no file, and installed are {known}"
        ) from None
    except (SigmaError, yaml.YAMLError, TypeError, AttributeError) as error:
        raise ValueError(f"a pipeline cannot be read: {' '.join(str(error).split())}") from None


def _refuse_another(name: str, pipeline: object) -> None:
    """Raise a ValueError if pySigma has another pipeline under a name.

    Some of its versions keep only one of all functions that are decorated with `@Pipeline`.
    """
    function = getattr(pipeline, "func", None)
    if function is not None and function.__name__.replace("_pipeline", "") != name:
        raise ValueError(
            f"this version of pySigma has the pipeline {function.__name__!r} under the name "
            f"{name!r}: give the pipeline as a YAML file, or use version 2"
        )


def _imported(
    sources: Sequence[Path], backend: MatchwoodBackend
) -> Iterator[ImportedRule | NotImported]:
    found = list(found_in(sources))  # a filter, or a correlation, may come after its rules
    filters = [
        each.rule
        for each in found
        if isinstance(each, FoundRule) and isinstance(each.rule, SigmaFilter)
    ]
    correlations = _correlations(found)
    for each in found:
        if isinstance(each, NotImported):
            yield each
        elif isinstance(each.rule, SigmaCorrelationRule):
            yield NotImported(each.place, CORRELATION, each.id)
        elif isinstance(each.rule, SigmaRule):
            row = _converted(each.rule, each, filters, backend)
            counted_by = sorted({*correlations[each.id], *correlations[str(each.rule.name)]})
            if counted_by and isinstance(row, ImportedRule):
                row = replace(row, data=row.data | {"correlations": counted_by})
            yield row


def _correlations(found: Sequence[FoundRule | NotImported]) -> defaultdict[str, list[str]]:
    """The correlations that name each rule, by the id or name that they give."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for each in found:
        if isinstance(each, FoundRule) and isinstance(each.rule, SigmaCorrelationRule):
            for reference in each.rule.rules or ():
                names[reference.reference].append(each.id)
    return names


def _converted(
    rule: SigmaRule, found: FoundRule, filters: Sequence[SigmaFilter], backend: MatchwoodBackend
) -> ImportedRule | NotImported:
    try:
        for each in filters:
            # A copy for each rule, because pipelines change detections where they are.
            deepcopy(each).apply_on_rule(rule)
        texts = backend.convert_rule(rule)
        if not texts:
            reason = "the pipeline has dropped all of its conditions"
            return NotImported(found.place, reason, found.id)
        return rule_row(rule, any_of_texts(texts), found.place, found.id)
    except RuleError as error:  # of a pipeline that rewrites the text
        return NotImported(found.place, str(error).splitlines()[0], found.id)
    except Exception as error:  # of a pipeline, or whatever Python raises in pySigma
        return NotImported(found.place, reason_of(error), found.id)

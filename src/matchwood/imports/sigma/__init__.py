"""Sigma rules, with pySigma, the library that is made for them (`pip install 'matchwood[sigma]'`).

pySigma reads rules, filters and modifiers, and processing pipelines map their fields and log
sources. What it makes of a condition becomes a rule here:

    reading        `read_rules`: files and folders to rules
    rule_files     the documents of files, as pySigma reads them
    backend        matchwood as a target of pySigma, for `sigma convert` too
    misread        what pySigma would convert to something else, and what is refused for it
    predicates     a value of a detection as a predicate
    number_texts   the texts of numbers, and which patterns match some of them
    chains         `and`, `or` and `not` of predicates
    rule_rows      ids, titles, tags, priorities and what else a rule says of itself

pySigma finds the backend in `sigma.backends.matchwood`, which lies beside this package.
"""

try:
    import sigma.rule  # noqa: F401
except ModuleNotFoundError as error:
    reason = "Sigma rules need pySigma: pip install 'matchwood[sigma]'"
    raise ModuleNotFoundError(reason, name=error.name) from error

from matchwood.imports.sigma.backend import MatchwoodBackend
from matchwood.imports.sigma.reading import read_rules

__all__ = ["MatchwoodBackend", "read_rules"]

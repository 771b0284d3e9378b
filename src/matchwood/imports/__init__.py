"""Rules from other formats: detections, routes, filters and stored queries that exist already.

`read` yields an `ImportedRule` for each rule that can be said exactly, and a `NotImported`, with
the reason and the place, for each one that cannot. An imported rule means, event by event, what the
original means where it lives. Where events of some kind are read in another way there, the rule
names this kind in `differs`.

    imported          what an importer yields
    differences       kinds of events of which a rule may answer otherwise than its original
    formats           the formats by name, and `read`
    json_documents    files that hold one JSON value, or one on each line
    records           the rules in such a value: ids, conditions, and what else is said of them
    connectives       nodes joined by `and`, `or` and `not`, without what decides nothing
    float_numbers     numbers of formats that compute with floats of 64 bits

    sigma             detections of Sigma
    event_patterns    patterns of EventBridge, and filter policies of SNS
    json_logic        expressions of JSONLogic
    percolator        stored queries of Elasticsearch and OpenSearch
    sql               tables of conditions in SQL, also in that of Spark

Each format has a module or a package of its own, with a function `read_rules(sources, **options)`,
which is imported only when the format is read.
"""

from matchwood.imports.differences import EVENT_KINDS
from matchwood.imports.formats import FORMATS, read
from matchwood.imports.imported import ImportedRule, Inexpressible, NotImported

__all__ = ["EVENT_KINDS", "FORMATS", "ImportedRule", "Inexpressible", "NotImported", "read"]

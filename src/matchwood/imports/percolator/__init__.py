"""Stored queries of Elasticsearch and OpenSearch: what a percolator index holds.

    stored_queries   `read_rules`: files of queries, what a search prints, and the bulk format
    index_mapping    the fields of documents, with their types
    compound         `bool` and the other queries that hold queries
    field_queries    queries of one field: term, range, prefix, exists …
    date_math        dates such as `now-1d/d`, rounded as Elasticsearch does
    lucene_patterns  wildcards, and regular expressions of Lucene for RE2
    addresses        ranges of addresses as networks

A query is true or false of a document, never undefined: a field that is missing has no value, and
`must_not` is true of it. A node made here is true where the query is, and false or undefined where
it is not; what negates it asks whether it `is not true`.
"""

from matchwood.imports.percolator.stored_queries import read_rules

__all__ = ["read_rules"]

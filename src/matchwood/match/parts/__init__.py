"""Parts: a segment of the index together with the rules that it was built from.

A segment knows its rules by their ordinals only. A part adds the ids, texts, tags and priorities
of the rules, says which of them were removed since, and makes what asks the segment when it is
first needed. A part is never changed: removing a rule makes a copy that shares everything large.

    segment ──┐
    columns ──┼── Part ── part_file ── one file of several parts
    alive  ───┘

Modules:

- `rule_columns`: the details of many rules, as columns by ordinal;
- `context`: what rules name besides attributes, and who answers for it;
- `given_rules`: many rules as they were given, by position;
- `part`: a segment, its rules, and which of them are alive;
- `operator_rules`: rules that call operators, and the clauses that an event leaves open;
- `pending`: a rule that is in no segment yet;
- `rule_checks`: rules that no schema or operator could answer are refused;
- `part_file`: parts to a file and back.
"""

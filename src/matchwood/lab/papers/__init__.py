"""The published algorithms, each behind the protocol of `shared.protocol.Algorithm`.

An algorithm is built from rules, matches one event at a time, and says how much work that was. It
refuses what it does not support, and raises `OverBudget` where its structure outgrows its budget.
`algorithms.ALGORITHMS` has all of them by name; a module is imported when its algorithm is first
asked for, so that only its own kernels are compiled.

    rules ── the engine's parser ──┬── shared.forms: trees of `and` and `or` ── atree, fontoura
             and atoms             └── shared.axes: boxes ── boxes, le_subscribe

    events ──┬── shared.predicate_lookup: true predicates ── atree, fontoura
             └── shared.axes: codes ── boxes, le_subscribe

The algorithms by name, with the paper that each one follows:

| name | module | paper |
| --- | --- | --- |
| `a-tree` | `atree.atree` | Ji, Jacobsen 2021, §4 and §5 |
| `scan` | `atree.exhaustive_scan` | Ji, Jacobsen 2021, §2 |
| `bop` | `atree.bop` | Bittner, Hinze 2007; Ji, Jacobsen 2021, §2 |
| `bdd` | `atree.bdd` | Campailla et al. 2001; Ji, Jacobsen 2021, §2 |
| `translation` | `atree.translation` | Ji, Jacobsen 2021, §2 |
| `dewey` | `fontoura.dewey` | Fontoura et al. 2010, §3 |
| `interval` | `fontoura.interval` | Fontoura et al. 2010, §4 |
| `dnf` | `fontoura.dnf` | Fontoura et al. 2010, §5.2 |
| `scan-conjunctions` | `fontoura.scan_conjunctions` | Fontoura et al. 2010, §5.2 |
| `fair-predicate` | `le_subscribe.fair_predicate` | Fabret et al. 2000, §3.1, Figure 2 |
| `gough` | `le_subscribe.gough` | Gough, Smith 1995; Fabret et al. 2000, Figure 3 |
| `equality-preferred` | `le_subscribe.equality_preferred` | Fabret et al. 2000, Figure 4 |
| `quarantining` | `le_subscribe.quarantining` | Fabret et al. 2000, Figure 5 |
| `hanson` | `le_subscribe.hanson` | Hanson et al. 1990; Fabret et al. 2000, Figure 6 |
| `aguilera` | `le_subscribe.aguilera` | Aguilera et al. 1999; Fabret et al. 2000, Figure 7 |
| `neon` | `le_subscribe.neon` | NEONRules; Fabret et al. 2000, Figure 8 |
| `tama` | `boxes.tama` | Zhao, Wu 2011 |
| `be-tree` | `boxes.be_tree` | Sadoghi, Jacobsen 2013 |
| `h-tree` | `boxes.h_tree` | Qian et al. 2014 |
| `rein` | `boxes.rein` | Qian et al. 2014 |
| `opindex` | `boxes.opindex` | Zhang, Chan, Tan 2014 |
| `dexin` | `boxes.dexin` | Fan, Liu, Tang 2016 |
| `bitmaps` | `boxes.bitmaps` | none: a sketch of this project |

`ordering` answers another question, the order in which to evaluate expensive predicates (Liu et
al. 2007), and has a protocol of its own.

Compiled functions are in files named `*_kernels.py`, together with the layouts and constants that
they read; everything else is strictly typed.
"""

"""Detections over logs of endpoints, shaped like the public rules for Windows.

A rule is about one kind of log: the start of a process, a connection, a file, a key of the
registry, or a library that is loaded. It looks for parts of paths and command lines in lists of 5
to 50 patterns, and one rule of ten leaves out what is known to be harmless, with the two-valued
"not" of such rules: `(…) is not true`. Events have 40 to 200 attributes of text, most of which no
rule asks for, and as on most machines, most values recur.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

# The share of rules that leave something out.
NEGATED = 0.1

# The share of values of an event that were never seen before.
NEW = 0.1

# Values that recur, of each attribute.
RECURRING = 300

# The kinds of logs, how often events and rules are of each kind, and the attributes of each that
# rules look for patterns in.
KINDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "process_creation": (
        6,
        ("Image", "CommandLine", "ParentImage", "ParentCommandLine", "OriginalFileName", "User"),
    ),
    "registry_set": (2, ("TargetObject", "Details", "Image")),
    "file_event": (2, ("TargetFilename", "Image")),
    "network_connection": (1, ("Image", "DestinationHostname", "Initiated")),
    "image_load": (1, ("ImageLoaded", "Image", "OriginalFileName")),
}

FOLDERS = (
    r"C:\Windows\System32", r"C:\Windows\SysWOW64", r"C:\Program Files\Common Files",
    r"C:\Users\{}\AppData\Local\Temp", r"C:\Users\{}\AppData\Roaming", r"C:\ProgramData",
    r"C:\Users\{}\Downloads", r"C:\Windows\Temp", r"C:\Program Files (x86)\{}",
)  # fmt: skip
STEMS = (
    "power", "shell", "cmd", "net", "reg", "svr", "task", "host", "run", "dll", "msi", "exec",
    "wmi", "cert", "util", "curl", "bits", "admin", "sched", "script", "view", "sync", "agent",
    "update", "helper", "crash", "print", "spool", "audio", "index", "search", "edge", "team",
)  # fmt: skip
ENDINGS = ("exe", "exe", "exe", "dll", "ps1", "bat", "vbs", "tmp")
OPTIONS = (
    "-enc", "-nop", "-w hidden", "/c", "/k", "/create", "/tn", "/add", "delete", "shadows", "-o",
    "--url", "http://", "https://", "/transfer", "-decode", "/i", "/quiet", "query", "export",
)  # fmt: skip
USERS = ("ann", "bob", "carol", "dave", "erin", "frank", "SYSTEM", "LOCAL SERVICE")


@dataclass(frozen=True)
class EndpointLogs:
    """A seeded workload of detection rules and logs.

    >>> logs = EndpointLogs(rules=20, seed=2)
    >>> 40 <= len(logs.events(1)[0]) <= 200
    True
    """

    rules: int = 3_600
    seed: int = 1

    def texts(self) -> list[str]:
        """The rules."""
        random = Random(f"endpoint rules {self.seed}")
        return [_rule(random) for _ in range(self.rules)]

    def events(self, n: int) -> list[dict[str, Any]]:
        """Logs as Python values."""
        random = Random(f"endpoint logs {self.seed}")
        known = {
            name: [_value(name, random) for _ in range(RECURRING)]
            for _, names in KINDS.values()
            for name in names
        }
        notes = [_word(random) for _ in range(RECURRING)]
        return [_event(known, notes, random) for _ in range(n)]

    def json_texts(self, n: int) -> list[bytes]:
        """Logs as JSON."""
        return [json.dumps(event).encode() for event in self.events(n)]


# Rules


def _rule(random: Random) -> str:
    kind = _kind(random)
    names = KINDS[kind][1]
    chosen = random.sample(names, min(len(names), random.choice((1, 2, 2, 3))))
    wanted = [_patterns(name, random, 5, 50) for name in chosen]
    if random.random() < 0.3:
        wanted[-1] = f"{chosen[-1]} ilike '{_pattern(chosen[-1], random)}'"
    rule = f"category = '{kind}' and {' and '.join(wanted)}"
    if random.random() < NEGATED:
        name = random.choice(names)
        rule += f" and ({_patterns(name, random, 1, 8)}) is not true"
    return rule


def _patterns(name: str, random: Random, least: int, most: int) -> str:
    count = min(most, max(least, int(random.paretovariate(1) * least)))
    patterns = sorted({_pattern(name, random) for _ in range(count)})
    return f"{name} ilike any ({', '.join(map(_quoted, patterns))})"


def _quoted(pattern: str) -> str:
    return f"'{pattern}'"


def _pattern(name: str, random: Random) -> str:
    if "CommandLine" in name:
        return f"%{random.choice(OPTIONS)} {_word(random)}%".replace("\\", "\\\\")
    if name in ("User", "Initiated", "Details"):
        return f"%{_word(random)}%"
    tail = f"\\{_word(random)}.{random.choice(ENDINGS)}".replace("\\", "\\\\").replace("_", "\\_")
    return f"%{tail}" if random.random() < 0.8 else f"%\\\\{_word(random)}\\\\%"


# Events


def _event(known: dict[str, list[str]], notes: list[str], random: Random) -> dict[str, Any]:
    kind = _kind(random)
    event: dict[str, Any] = {
        "category": kind,
        "Computer": f"host-{random.randrange(500)}",
        "EventRecordID": random.randrange(1 << 40),
        "UtcTime": f"2026-01-{random.randrange(1, 29):02} 10:{random.randrange(60):02}:00.000",
    }
    for name in KINDS[kind][1]:
        is_new = random.random() < NEW
        event[name] = _value(name, random) if is_new else known[name][_often(random)]
    for number in range(random.randrange(40, 200) - len(event)):
        event[f"Note{number:03}"] = notes[_often(random)]
    return event


def _often(random: Random) -> int:
    """The number of a value that recurs, of which the first do so most often."""
    return int(RECURRING * random.random() ** 2)


def _value(name: str, random: Random) -> str:
    path = f"{random.choice(FOLDERS).format(random.choice(USERS))}\\{_word(random)}"
    path += f".{random.choice(ENDINGS)}"
    if "CommandLine" in name:
        words = (f"{random.choice(OPTIONS)} {_word(random)}" for _ in range(random.randrange(1, 9)))
        return f'"{path}" {" ".join(words)} {random.getrandbits(64):x}'
    if name == "TargetObject":
        return rf"HKLM\SOFTWARE\{_word(random)}\CurrentVersion\Run\{_word(random)}"
    if name == "DestinationHostname":
        return f"{_word(random)}.{_word(random)}.example"
    if name in ("User", "Initiated", "Details", "OriginalFileName"):
        return f"{_word(random)}.{random.choice(ENDINGS)}"
    return path


def _word(random: Random) -> str:
    return random.choice(STEMS) + random.choice(STEMS) + random.choice(("", "32", "64", "x"))


def _kind(random: Random) -> str:
    return random.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]

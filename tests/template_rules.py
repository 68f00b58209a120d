"""What a finding's template may not say, found by reading its prose.

Templates hold mechanism, which is true on any device. Whatever depends on a run comes in through
variables. So prose may hold no figure, no ranking, no product and no verdict. Code and inline code
are exempt: they show how a thing is written, not what came of it. Words typed inside `{{ … }}` are prose.
"""

from __future__ import annotations

import re

ALLOWED: dict[str, dict[str, str]] = {
    "limits.md.j2": {"is given twice": "the table has two columns of it"},
    "occupancy.md.j2": {"half-empty device": "an example of an average"},
    "compare.md.j2": {"Times to the fastest": "the head of the table of ratios"},
    "half-the-square.md.j2": {"a little more than a half": "a triangle with its diagonal"},
    "glossary.md.j2": {"shows 0 for a kernel that uses more": "what the formula gives", "32 on NVIDIA's GPUs": "the vendor's definition of a warp", "it has 64": "the other vendor's",
                       "(L2)": "the cache's name", "*holds*, *differs*, *within noise* or *not measurable*": "the words that are defined",
                       "{% if featured.device.sm_count %}": "says the number where it is known", "{% if featured.device.memory_bytes %}": "likewise",
                       "{% if featured.device.l2_cache_bytes %}": "likewise"},
    "index.md.j2": {"## What does not hold here": "the head of the list of those that do not"},
    "device.md.j2": {"{% if facts.clocks.reason %}": "says the reason where there is one"},
    "method.md.j2": {"A beats B": "the rule that is defined", "A is faster in all of them": "likewise", "the claim holds": "likewise", "within noise": "likewise", "\"not measurable\"": "the badge whose meaning follows"},
    "reading_a_trace.md.j2": {"Occupancy 0 %": "the reading that is explained", "shows 0 for": "what the formula gives"},
    "reviewing.md.j2": {"a slower kernel is a fact about that software": "how a reviewer reads one, if there is one", "leaves out 0 %": "no change",
                        "ends with status 1": "of the command", "slower": "a gate's name, and the head of a count", "faster": "the head of a count", "within noise": "likewise",
                        "length > 4 %": "the length of a list, and the end of a tag", "was recorded twice": "the one and the other run"},
}
"""template → text that it may hold although it looks like a statement → why it is true on any device"""

# Names of types and architectures' terms that carry digits, and powers of a base.
NAMES = re.compile(r"\b(?:FP|BF|TF|fp|bf|tf|float|bfloat|int|INT|SM|L)\d+\b|FlashAttention-\d|\b(?:8|16|32|64)[- ]bits?\b|\bhalf[- ]precision\b", re.I)
_BLOCKS = (re.compile(r"```.*?```", re.S), re.compile(r' markdown="1"'), re.compile(r"^\d+\. ", re.M), re.compile(r"~~~.*?~~~", re.S), re.compile(r"<svg.*?</svg>", re.S), re.compile(r"<pre.*?</pre>", re.S),
           re.compile(r"\{#.*?#\}", re.S), re.compile(r"\{%-?\s*(?!\s|if\b|elif\b).*?%\}", re.S), re.compile(r"<!--.*?-->", re.S),
           re.compile(r"`[^`\n]+`"), re.compile(r"\]\([^)]*\)"))
_NUMBER_WORDS = "twice|double|half|third|quarter|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|twenty|thirty|hundred|thousand|million"
_WORDS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|fifty|sixty|hundred|a dozen"
_UNITS = "times|points?|per ?cent|(?:micro|milli)?seconds|bytes|calls|(?:fresh )?processes|warps|blocks|samples|runs"
FRACTION = re.compile(r"\b(?:half|halves|(?:a|an|one)[ -](?:third|quarter|fifth)(?= of\b)|(?:two|three)[ -](?:thirds|quarters|fifths)|(?:a|an|one)[ -](?:ten|hundred|thousand)th|"
                      rf"tenths|hundredths|thousandths|twice|thrice|double[sd]?|tenfold|(?!two runs\b)(?:{_WORDS})[ -](?:{_UNITS}))\b", re.I)
"""A border in words: a fraction, a multiple, so many of a unit."""
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.S)
_PHRASE = re.compile(r"\"[^\"\n]* [^\"\n]*\"|'[^'\n]* [^'\n]*'")
_RULES = (
    ("test", re.compile(r"\{%-?\s*(?:el)?if\b[^%]*\b(?:verdict|device|slot|facts|outcome)\b[^%]*%\}")),
    ("number", re.compile(r"\d+(?:[.,]\d+)*(?:\s?(?:%|×|µs|ms|KiB|MiB|GB|TB/s))?")),
    ("number", re.compile(rf"\b(?:{_NUMBER_WORDS})\s+(?:kernels?|times|percent|microseconds|blocks|warps|transposes|ops|launches|copies)\b", re.I)),
    ("number", FRACTION),
    ("ranking", re.compile(r"\b(?:fast|slow|cheap|quick)(?:er|est)\b(?:\s+than)?|\b(?:wins?|beats?|loses?\s+to|outperforms?)\b|\b(?:best|worst)\b", re.I)),
    ("device", re.compile(r"\b(?:[ABHLTV]\d{1,3}0?|GH?B?\d{3}|RTX|GTX|MI\d{3}X?|Hopper|Ampere|Blackwell|Turing|Volta|Ada|GeForce|Tesla|Radeon|Instinct|Xeon|Epyc)\b")),
    ("verdict", re.compile(r"\b(?:(?:claim|statement|prediction)s?\s+holds?|(?:it|this|that)\s+holds(?=[.,;:)]|\s+here)|differs?\s+from\s+the\s+article|within noise|not measurable|does not hold)\b", re.I)),
)


def statements(template: str, allowed: dict[str, str]) -> list[tuple[int, str, str]]:
    """`(line, what, text)` for everything in a template's prose that states a result."""
    text = template
    for pattern in _BLOCKS:
        text = pattern.sub(_blank, text)
    text = NAMES.sub(_blank, _EXPRESSION.sub(_phrases, text))
    for constant in sorted(allowed, key=len, reverse=True):
        text = text.replace(constant, " " * len(constant))
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for what, rule in _RULES[::-1]:
        for match in rule.finditer(text):
            found[(text.count("\n", 0, match.start()) + 1, match.start())] = (what, match.group().strip())
    # A product's own digits are a device, not a number as well.
    devices = [(match.start(), match.end()) for what, rule in _RULES if what == "device" for match in rule.finditer(text)]
    inside = {place for place, (what, _) in found.items() if what == "number" and any(start < place[1] < end for start, end in devices)}
    return [(line, *found[line, start]) for line, start in sorted(found) if (line, start) not in inside]


def _blank(match: re.Match[str]) -> str:
    """Spaces of the same length, so that lines and places stay what they were."""
    return re.sub(r"[^\n]", " ", match.group())


def _phrases(match: re.Match[str]) -> str:
    """An expression without anything but the phrases that are typed in it."""
    kept = [range(*phrase.span()) for phrase in _PHRASE.finditer(match.group())]
    return "".join(letter if letter == "\n" or any(place in span for span in kept) else " " for place, letter in enumerate(match.group()))

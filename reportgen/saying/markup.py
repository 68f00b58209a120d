"""Words in Markdown: what others wrote (a device's name, torch's reason) is shown as it is, and no renderer takes it for markup."""

from __future__ import annotations

import html
import re

from .units import MISSING

# A backslash would take the next sign's meaning, a star opens emphasis, a bracket before another one ends a link's label,
# a brace holds attributes, and two tildes strike out.
_SIGNS = (("\\", "\\\\"), ("`", "\\`"), ("*", "\\*"), ("](", "]\\("), ("][", "]\\["), ("{", "&#123;"), ("~~", "&#126;&#126;"))
_OPEN, _SHUT = "\x02", "\x03"
_CODE = re.compile(r"(`[^`]+`)")


def escaped(text: str) -> str:
    """`text` in one line, each sign of it shown.

    >>> escaped("see [x](y) <b> *now* _under_ masked_fill")
    'see [x]\\\\(y) &lt;b&gt; \\\\*now\\\\* \\\\_under\\\\_ masked_fill'
    """
    return _shown(_one_line(text))


def title(text: str) -> str:
    """`text` in the navigation, which is HTML and no Markdown; the theme takes tags out and reads entities once more, so brackets get a form that means nothing."""
    return html.escape(_one_line(text).translate(str.maketrans("[]<>", "()‹›")), quote=False)


def alt(text: str) -> str:
    """The text of a picture; brackets would end it."""
    return escaped(text.replace("[", "(").replace("]", ")"))


def inline(text: str) -> str:
    """A sentence or a part of one within a line; its `code` stays code."""
    return _with_code(_one_line(text))


def label(text: str) -> str:
    """`text` where it becomes a heading or the label of a link: its brackets are shown as well, and what would close a heading."""
    shown = escaped(text.replace("[", _OPEN).replace("]", _SHUT)).replace(_OPEN, "&#91;").replace(_SHUT, "&#93;")
    return re.sub("#+$", lambda end: "&#35;" * len(end.group()), shown)


def address(url: str) -> str:
    """An address as the target of a link: what would end it, or a table's cell, is written as a percent code."""
    return "".join(f"%{ord(sign):02X}" if sign in " ()<>|\"\\`" else sign for sign in _one_line(url))


def sentence(text: str) -> str:
    """A sentence, ours or others', for a page: its `code` stays code, and it ends with one full stop.

    What would open a heading, a list or a box at the start of a line is shown.
    """
    # torch ends a line with a colon; joined to one text, a full stop came after it
    text = re.sub(r"(?<!\.)\.\.(?=\s|\)|$)", ".", re.sub(r":\.(?=\s|$)", ":", _one_line(text)))
    return _beginning(_with_code(text))


def opening(text: str) -> str:
    """A sentence as the line that opens a fold, in HTML: no renderer reads Markdown there alike. Its `code` stays code, and it ends without a full stop."""
    parts = _CODE.split(_one_line(text).replace("**", "").rstrip("."))
    return "".join(f"<code>{_entities(part[1:-1])}</code>" if part.startswith("`") and len(part) > 2 else _entities(part) for part in parts)


def _entities(text: str) -> str:
    return re.sub(r"[<>&\\`*_\[\]{}~|]", lambda sign: f"&#{ord(sign[0])};", text)


def emphasised(text: str) -> str:
    """A sentence of ours in which `**words**` stand out; it may begin a line with words of others."""
    return _beginning("**".join(_with_code(part) for part in _one_line(text).split("**")))


def heading(text: str) -> str:
    """A sentence as a heading: without its full stop."""
    return sentence(text).rstrip(".")


def code(name: str) -> str:
    """`name` as inline code that survives MkDocs and forges alike, whatever is in it."""
    name = " ".join(name.split())
    if not name:
        return MISSING
    if "|" in name or "`" in name:
        # a tag ends no Markdown: within it a bracket would still open a link, and an underscore at a word's edge emphasis
        return "<code>" + re.sub(r"[^\w .,:()=+/-]|(?<!\w)_|_(?!\w)", lambda sign: f"&#{ord(sign[0])};", name) + "</code>"
    return f"`{name}`"


def fenced(source: str) -> str:
    """Python code as a block, in a fence that no line of it closes.

    >>> fenced("'```'").split("\\n")[0]
    '````python'
    """
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", source)), 0)
    return f"{fence}python\n{source}\n{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _beginning(line: str) -> str:
    """A line of which nothing opens a heading, a list or a box."""
    shown = re.sub(r"^[#+=!?~:-]", lambda sign: f"&#{ord(sign.group())};", line)
    return re.sub(r"^(\d+(?=[.)]\s)|(?=\[))", r"\1\\", shown)


def _with_code(text: str) -> str:
    return "".join(code(part[1:-1]) if part.startswith("`") and len(part) > 2 else _shown(part) for part in _CODE.split(text))


def _shown(text: str) -> str:
    text = html.escape(text, quote=False)
    for sign, shown in _SIGNS:
        text = text.replace(sign, shown)
    # an underscore at a word's edge could open emphasis: masked_fill_, _safe_softmax
    return re.sub(r"(?<!\w)_+|_+(?!\w)", lambda edge: "\\_" * len(edge.group()), text)

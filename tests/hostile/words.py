"""Thirty texts that try to become script, a link, markup, a template or another order of reading, and thirty names that try to leave their folder.

Each text begins and ends with a word, so that one can see on a page that it is there. `OUTSIDE` is a host that no page of ours names;
`PLANTED` is what a script would set.
"""

from __future__ import annotations

OUTSIDE = "outside.invalid"
PLANTED = "__planted"
_SET = f"window.{PLANTED}=1"

TEXTS: dict[str, str] = {
    "script": f"w <script>{_SET};alert(1)</script> w",
    "picture": f"w <img src=//{OUTSIDE}/x onerror={_SET}> w",
    "vector": f"w <svg/onload={_SET}><script>{_SET}</script></svg> w",
    "frame": f"w <iframe srcdoc='<script>parent.{PLANTED}=1</script>' src=//{OUTSIDE}/></iframe> w",
    "opened": f"</code></pre></td></h1></summary></title></textarea></style></script><script>{_SET}</script> w",
    "attribute": f"w\" onmouseover=\"{_SET}\" autofocus onfocus='{_SET}' x=' w",
    "javascript link": f"w [click](javascript:{_SET}) and [click][1] w",
    "reference": f"[1]: javascript:{_SET} \"w\"",
    "data link": f"w [click](data:text/html,<script>{_SET}</script>) w",
    "link": f"w [click](https://{OUTSIDE}/a) [rel](../../../x.md) [a](<https://{OUTSIDE}/ b>) w",
    "autolink": f"w <https://{OUTSIDE}/> <mailto:a@{OUTSIDE}> <javascript:{_SET}> https://{OUTSIDE}/bare www.{OUTSIDE} w",
    "image": f"w ![z](https://{OUTSIDE}/z.png) ![z][1] ![](javascript:{_SET}) w",
    "entities": f"w &lt;script&gt;{_SET}&lt;/script&gt; &#60;img src=x onerror={_SET}&#62; &#x3c;b&#x3e; &amp;lt;i&amp;gt; w",
    "entity link": f"w [click](&#106;avascript:{_SET}) <a href=jav&#x09;ascript:{_SET}>click</a> w",
    "attribute list": f"w {{: onclick=\"{_SET}\" href=\"javascript:{_SET}\" style=\"position:fixed\" }}",
    "attribute list of a code": f"w `x`{{: onclick=\"{_SET}\" }} **x**{{ onmouseover={_SET} }} w",
    "admonition": f"!!! danger \"<img src=x onerror={_SET}>\" w",
    "details": f"??? note \"[x](javascript:{_SET})\" w",
    "snippet": "--8<-- \"/etc/passwd\" w",
    "macros": "w {{ config.__class__.__init__.__globals__ }} {% import 'os' as o %} {{ 7*7 }} {# w #} ${HOME} w",
    "heading": f"# w <b onclick={_SET}>now</b> [x](javascript:{_SET}) {{#id onclick={_SET}}} ##",
    "table": f"w | b | c || <td onclick={_SET}> \\| --- | :---: | w",
    "fence": f"w ``` w ~~~ ````html <script>{_SET}</script> ```` `` ` w",
    "code": f"w `<script>{_SET}</script>` `a|b <img src=x onerror={_SET}>` `{{{{ 7*7 }}}}` w",
    "lines": f"w\n\n# second <script>{_SET}</script>\n\n- [x](javascript:{_SET})\n\n    <b>code</b>\n\n```\n<script>{_SET}</script>\n```\n\n<div markdown=1 onclick={_SET}>\n\n| a | b |\n|---|---|\n| w | w |\n",
    "footnote": f"w[^1] [^1]: <script>{_SET}</script> *[w]: abbreviation [TOC] [[wiki]] w",
    "yaml": "w: \"!!python/object/apply:os.system ['touch planted']\" !ENV HOME # w\u2028- {a: b}\u0085? w",
    "bidi": f"w \u202e\u2066{OUTSIDE}\u2069\u202d \u200f\u061c\u200b\ufeff w",
    "letters": "w \u6e2c\u8a66\u5361 \ud55c\uad6d\uc5b4 \U0001f680 \u05e2\u05d1\u05e8\u05d9\u05ea \u0928\u092e\u0938\u094d\u0924\u0947 e\u0301 $\\frac{$ $x^2$ w",
    "controls": f"w \x00\x01\x02klzzwxh:0001\x03 \x02wzxhzdk:0\x03 \x1b[2J\x1b]8;;https://{OUTSIDE}/\x07click\x1b]8;;\x07\x7f\x9b31m w",
    "long": "w" + "<b>[x](javascript:1)" * 500 + " w",
}
"""What it is → the text."""

NAMES: dict[str, str] = {
    "up": "../../../escaped", "up, later": "a/../../escaped", "absolute": "/escaped", "a home": "~/escaped", "a folder": "a/b", "the folder": ".", "the folder above": "..",
    "nothing": "", "blank": " ", "hidden": ".hidden", "a dot last": "a.", "a blank last": "a ", "NUL": "a\0b", "a new line": "a\nb", "Windows' way up": "..\\..\\escaped",
    "Windows' disk": "C:escaped", "Windows' share": "\\\\host\\escaped", "Windows' device": "con", "Windows' device with an ending": "NUL.txt", "a port": "COM1", "a stream": "a:b",
    "a dash first": "-rf", "an option": "--into=x", "very long": "x" * 300, "a lookalike of /": "..\u2215..\u2215escaped", "wide dots": "\uff0e\uff0e\uff0fescaped",
    "percent": "..%2f..%2fescaped", "a letter like ours": "n\u0430ive", "the other direction": "a\u202eb", "markup": f"<img src=x onerror={_SET}>", "a plus": "a+b", "a star": "*", "a shell's": "$(touch escaped)",
    "half a letter": "a\ud800",
}
"""What it is → the name."""

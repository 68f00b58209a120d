"""Builds the strict site of hostile runs, and says what is looked for in its pages."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

from perturbed.recorded import ROOT

from reportgen import analysis, findings, pages, run
from reportgen.pages import readme

from . import evidence
from .words import PLANTED

LOOK = """(() => {
  const live = /^\\s*(?:javascript|data|vbscript|blob|mailto):/i, all = [...document.querySelectorAll('*')];
  const heads = /^--h\\d+:'(?:[^'\\\\]|\\\\.)*'(?:;--h\\d+:'(?:[^'\\\\]|\\\\.)*')*$/;  // texts alone: what a row on a phone says before each cell
  const own = a => a.name.startsWith('on') || a.name === 'srcdoc' || a.name === 'style' && a.ownerElement.closest('article')
      && !/^(?:text-align: (?:right|left|center);?)?$/.test(a.value) && !(a.ownerElement.tagName === 'TABLE' && heads.test(a.value)) || (/^(?:href|src|action|formaction|xlink:href|data|poster|srcset)$/.test(a.name) && live.test(a.value));
  return {
    title: document.title, planted: typeof window.PLANTED,
    live: all.flatMap(e => [...e.attributes].filter(own).map(a => `<${e.tagName} ${a.name}=${a.value.slice(0, 80)}>`)),
    links: [...new Set(all.flatMap(e => [e.href, e.src, e.action].filter(x => typeof x === 'string' && x)))],
    tags: all.filter(e => !/^(?:CODE|BR|STRONG)$/.test(e.tagName) && !e.closest('pre, svg, .md-search__output, a[href*="kernel-names"]')).map(e => e.tagName + ' ' + [...e.attributes].map(a => a.name).filter(a => a !== 'title' || !e.matches('.md-ellipsis')).filter(a => a !== 'style' || e.tagName !== 'TABLE')
      .filter(a => !/^(?:role|tabindex|aria-label|data-name)$/.test(a) || !e.matches('.data-box')).sort().join(' ')),
    text: document.body ? document.body.innerText : document.documentElement.textContent,
  };
})()""".replace("PLANTED", PLANTED)


def built(root: Path, text: str, featured: str) -> Path:
    """The strict site with one run of each shape that holds `text`; fails if MkDocs objects or anything warns."""
    for shape in evidence.SHAPES:
        evidence.written(root / "runs", shape, text)
    runs = [run.load(folder) for folder in run.discover(root / "runs")]
    slot = f"nvidia-h200/article+{featured}"
    docs, site = root / "docs", root / "site"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pages.render(runs, docs, slot, ROOT / "docs")
    environment = {**os.environ, "DOCS_DIR": str(docs), "NAV_FILE": str(docs / "nav.yml"), "SITE_DIR": str(site), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, "-E", "-m", "mkdocs", "build", "--strict"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    (site / "readme.html").write_text(_forge(next(one for one in runs if one.slot == slot)), encoding="utf-8")
    return site


def _forge(featured: run.Run) -> str:
    """The README's part as plain Markdown with raw HTML gives it; a forge lets less through."""
    import markdown

    facts = analysis.build(featured)
    body = markdown.markdown(readme.section(facts, findings.outcomes(facts)), extensions=["tables"])
    return f"<!doctype html><meta charset=utf-8><title>README</title><body><article>{body}</article>"


def opened(site: Path, featured: str) -> list[str]:
    """Every page, and every chart of the featured run by itself, as a reader may open it."""
    charts = (site / "runs" / "nvidia-h200" / f"article+{featured}" / "charts").glob("*.svg")
    return sorted(file.relative_to(site).as_posix() for file in (*site.rglob("*.html"), *charts))

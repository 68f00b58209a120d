"""The page of an upgrade, from a made-up comparison, with its sentences read literally."""

from __future__ import annotations

import json

from builders import facts
from upgrade_doubles import CUDNN, Process, Seen, pair, seen, upgrade

from reportgen.pages import navigation, site
from reportgen.pages import upgrade as page
from reportgen.shapes.folder import Folder

SLOW = pair(seen(100.0, 100.0), seen(150.0, 150.0, picked="cudnn", kernels=CUDNN, output="p"), "a prompt")
GONE = pair(seen(), Seen("refused", "No available kernel."), "a long prompt", 4096)
SAME = pair(seen(), seen(), "a short prompt", 256)


def test_the_answer_the_tables_and_what_ran():
    text = page.render(upgrade(SLOW, GONE, SAME, ran=(Process("a", sm_mhz=1980.0), Process("b", sm_mhz=1980.0, again=True))), "runs/nvidia-h200/upgrade.md")
    assert "**From torch 2.9.1 to torch 2.14.1, 2 of 3 calls are worse and none of 3 calls is better.** Another outcome at 1, more time at 1, another backend at 1, other kernels at 1" in text
    assert "Look first at “a long prompt”: right → refused (No available kernel)." in text
    worse = text.split("## Worse")[1].split("## ")[0]
    assert "| a prompt | 50 % more GPU time; flash → cuDNN; other bits | another backend | GPU time | 100 µs | 150 µs | 1.50× | 1.494 to 1.506 |" in worse
    assert worse.index("| a long prompt |") < worse.index("| a prompt |") and "a short prompt" not in worse
    assert "| A: flash | B: cuDNN |" in text and "- B: refused, No available kernel." in text
    assert "| a short prompt | nothing seen | flash | GPU time | 100 µs | 100 µs | 1.00× | 0.9960 to 1.004 | 2 % |" in text
    assert "| cuDNN | 9.10.2 | 9.19.0 |" in text and "in as many processes, and counts only where it came out so again." in text
    assert "## Better" not in text and "Know before you read" not in text


def test_two_sides_that_do_not_differ_are_called_noise():
    text = page.render(upgrade(SAME, b=upgrade().a), "runs/nvidia-h200/upgrade.md")
    assert "The two sides do not differ in anything that is recorded: what changes here is noise." in text and "here none did." in text


def test_every_device_with_a_comparison_has_its_page_in_the_navigation():
    run = facts("h200")
    shown = site.build([run], run.slot, (), folders=(Folder("nvidia-h200", upgrade=upgrade(SLOW)),))
    shown.files.update(page.files(shown))
    assert list(shown.files) == ["runs/nvidia-h200/upgrade.md"]
    assert f'      - {json.dumps("What an upgrade changes: NVIDIA H200")}: runs/nvidia-h200/upgrade.md\n' in navigation.render(shown)

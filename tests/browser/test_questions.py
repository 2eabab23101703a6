"""What a stranger asks is answered at most two clicks away from the landing page, by the page alone."""

import re

import pytest

pytestmark = pytest.mark.slow

INTERVAL = r"[+−]\d[\d.]*\s%\s+[+−]\d[\d.]* to [+−]\d[\d.]*\s%"
QUESTIONS = {  # with the clicks, the part of the page, and what it says
    "is a slowdown still open, since when, whose fault, and how is it reproduced?": (
        [".open tbody a:has-text('np.from_dlpack(x)')", "section:has(#numpy_from_dlpack) summary:has-text('Issue')"],
        "section:has(#numpy_from_dlpack)",
        [INTERVAL, r"\d+\.\d+\.\d+ [+]\d", r"[Ff]unctions.* instructions|pytorch/pytorch#\d+", r"import torch"],
    ),
    "did 2.5 to 2.15 make x.detach().clone() with grad at 2^14 slower?": (
        ["a[href$='2.5.1..2.15.0.html']:visible"],
        "tr:has-text('x.detach().clone()'):has-text('2¹⁴ elements, requires grad')",
        [rf"(slower|faster|unchanged|unknown)\s+{INTERVAL}", r"\d µs\s+\d"],
    ),
    "what did 2.14 change, in one picture?": (
        ["nav a:has-text('Compare')", ".means a:has-text('2.13.0 → 2.14.1')"],
        "main:has(h1:text-is('torch 2.14.1: what changed')) figure:has(.by-method)",
        [r"by method and number of elements, with its interval", r"significant change, and leads to its case"],
    ),
    "which slowdowns are new in 2.15, on each device?": (
        ["#open a"],
        "main",
        [r"CPU.* 14 new.*New with torch 2\.15\.0\s+torch\.tensor\(x\)\s+up to \+\d", r"CUDA.*With torch 2\.15\.0, no case"],
    ),
    "can +3 % be trusted?": (
        [".news a"],
        "main",
        [r"seen 9 times in 10.*: \d", r"Unchanged: the whole interval lies within ±3"],
    ),
    "since when is x.numpy() slower, by which function and pull request?": (
        [".open tbody a:has-text('x.numpy()')"],
        "section:has(#numpy)",
        [r"1\.13\.1 [+]4\d\d", r"1\.12\.1.*→.*1\.13\.1.*instructions.*\w+::\w+", r"pytorch/pytorch#\d+"],
    ),
    "where do the microseconds of a call go?": (
        [".grid a:has-text('x.detach().clone()')"],
        "main",
        [r"Where do [\d.]+ µs go\?", *(rf"{part}\s+\d[\d.]*\s?%\s+\d" for part in ("interpreter", "dispatcher", "allocator", "kernel"))],
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_in_two_clicks(offline, published_site, question):
    clicks, part, answers = QUESTIONS[question]
    assert len(clicks) <= 2
    page = offline(published_site / "index.html")
    for link in clicks:
        page.locator(link).first.click()
    text = page.locator(part).first.inner_text()
    assert [answer for answer in answers if not re.search(answer, text, re.DOTALL)] == [], text

"""Large copies, for which Linux provides memory in pages of 4 KiB or, where a program asks for them, in huge pages of 2 MiB."""

import re
from functools import cache
from os import environ
from pathlib import Path

import torch

from tensorcopy.worker.methods import COPIES

from .cases import Suite, case, skip

ASKS = "THP_MEM_ALLOC_ENABLE"  # the environment variable by which torch asks for huge pages, since 2.2; it is read at the first allocation
MEMORY = Path("/proc/self/smaps_rollup")


@cache
def skip_without(huge_pages, numel):
    """Let torch ask for huge pages or not, and skip a case whose tensors get the other kind."""
    if not MEMORY.exists():
        skip("this system does not tell which pages a process has")
    environ[ASKS] = str(int(huge_pages))
    before = in_huge_pages()
    x = torch.ones(numel)
    has = in_huge_pages() > before
    del x
    if has is not huge_pages:
        skip(f"torch {torch.__version__} gets {'huge pages in any case' if has else 'no huge pages'} here")


def in_huge_pages():
    """Return the memory of this process in huge pages, in KiB."""
    return int(re.search(r"^AnonHugePages: *(\d+) kB", MEMORY.read_text(encoding="utf-8"), re.MULTILINE)[1])


class HugePages(Suite):
    """64 MiB are written to newly mapped memory: with pages of 4 KiB, providing them takes longer than the copy."""

    version = "1"
    params = [["detach_clone"], [2**24], [False, True]]
    param_names = ["method", "numel", "huge_pages"]

    def time_copy(self, method, numel, huge_pages):
        skip_without(huge_pages, numel)
        self.time(case(COPIES[method], numel), method, numel, huge_pages)

"""Python imports this module when it starts; the emulated runtime puts its folder on PYTHONPATH.

It waits for torch to be imported, and then lets `emulated_kernels` compute what kernels would compute.
"""

import importlib.abc
import importlib.util
import sys
from pathlib import Path


def _kernels():
    """Return the module, by its path: asv takes PYTHONPATH's folders off the search path."""
    spec = importlib.util.spec_from_file_location("emulated_kernels", Path(__file__).with_name("emulated_kernels.py"))
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    return kernels


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Find torch as everyone else does, and add a step after its import."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is None:
            sys.meta_path.insert(0, self)
            return None
        import_torch = spec.loader.exec_module

        def import_torch_and_kernels(module):
            import_torch(module)
            _kernels().register()

        spec.loader.exec_module = import_torch_and_kernels
        return spec


sys.meta_path.insert(0, _AfterTorch())

"""Python imports this module when it starts; the emulated runtime puts its folder on PYTHONPATH.

It waits for torch to be imported, and then lets `emulated_kernels` compute what kernels would compute.
"""

import importlib.abc
import importlib.util
import sys


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
            import emulated_kernels

            emulated_kernels.register()

        spec.loader.exec_module = import_torch_and_kernels
        return spec


sys.meta_path.insert(0, _AfterTorch())

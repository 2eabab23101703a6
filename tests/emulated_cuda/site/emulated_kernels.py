"""The results of CUDA kernels, computed by the CPU on the emulated device's memory.

Each operator of `OPERATORS` launches one kernel of torch's, `torch.cuda._sleep`, which takes its time in the queue and fails as a launch
fails; then it waits, and the CPU computes the values in place. Copies between tensors of one type and layout are not here: torch carries
them out by cudaMemcpyAsync, in the queue.
"""

import ctypes
import warnings

import torch

OPERATORS = """
abs add.Tensor add.out add_.Tensor all amax any arange.start_out bitwise_and.Tensor bitwise_not ceil cumsum div.Tensor eq.Scalar
eq.Tensor fill_.Scalar fill_.Tensor _foreach_add_.List _foreach_add_.Scalar _foreach_mul_.Scalar ge.Scalar ge.Tensor gt.Scalar gt.Tensor
index_select isfinite le.Scalar le.Tensor logical_and lt.Scalar lt.Tensor masked_select max min mul.Scalar mul.Tensor mul_.Tensor
ne.Scalar ne.Tensor neg pow.Tensor_Scalar repeat_interleave.Tensor sub.Tensor sum sum.dim_IntList zero_
"""

_library = []  # keeps the registrations


def register():
    """Replace the CUDA kernels of these operators in the imported torch."""
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an operator has a CUDA kernel already
        for name in OPERATORS.split():
            packet, _, overload = name.partition(".")
            operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
            library.impl(name, _computed(operator), "CUDA", allow_override=True)
        library.impl("copy_", _copy, "CUDA", allow_override=True)
    _library.append(library)


def _computed(operator):
    """Return a kernel that computes `operator` on the CPU."""
    names = [argument.name for argument in operator._schema.arguments]
    written = [argument.name for argument in operator._schema.arguments if argument.alias_info and argument.alias_info.is_write]

    def kernel(*args, **kwargs):
        given = {**dict(zip(names, args)), **kwargs}
        device = _device_of([*args, *kwargs.values()])
        _launch(device)
        out = given.get("out")
        if out is not None:  # it may have another size
            kwargs["out"] = torch.empty(0, dtype=out.dtype)
        result = operator(*_on_host(args), **{name: _on_host(value) for name, value in kwargs.items()})
        if out is not None:
            _on_host(out.resize_(result.shape)).copy_(result)
            return out
        if written:
            return given[written[0]] if operator._schema.returns else None
        return _to_device(result, device)

    return kernel


def _copy(self, src, non_blocking=False):
    """Copy a tensor: by a kernel where type or layout differ, else by torch's own code, which calls cudaMemcpyAsync."""
    is_dense = self.dtype == src.dtype and self.stride() == src.stride() and torch.ops.aten.is_non_overlapping_and_dense(self)
    if self.numel() and self.device == src.device and not is_dense:
        _launch(self.device)
        _on_host(self).copy_(_on_host(src))
        return self
    return torch.ops.aten.copy_.default._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, self, src, non_blocking)


def _device_of(values):
    """Return the device of an operator's tensors; raise as torch does where they are on two."""
    flat = [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]
    tensors = [item for item in flat if isinstance(item, torch.Tensor)]
    devices = dict.fromkeys(str(tensor.device) for tensor in tensors if tensor.dim() or tensor.device.type == "cuda")
    if len(devices) > 1:
        first, second = sorted(devices, reverse=True)[:2]
        raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!")
    return next(tensor.device for tensor in tensors if tensor.device.type == "cuda")


def _launch(device):
    """Launch a kernel, and wait: the values are computed when the work before it has been done."""
    with torch.cuda.device(device):
        torch.cuda._sleep(1)
        torch.cuda.synchronize()


def _on_host(value):
    """Return a CPU tensor on the memory of a CUDA tensor, in lists, too; other values as they are."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_on_host, value))
    if not (isinstance(value, torch.Tensor) and value.device.type == "cuda"):
        return value
    storage = value.untyped_storage()
    if not storage.nbytes():
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    whole = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=value.dtype).set_(whole, value.storage_offset(), value.shape, value.stride())


def _to_device(value, device):
    """Return a CUDA tensor with the values of a CPU tensor; other values as they are."""
    if isinstance(value, (list, tuple)):
        return type(value)(_to_device(item, device) for item in value)
    if not isinstance(value, torch.Tensor):
        return value
    made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
    _on_host(made).copy_(value)
    return made

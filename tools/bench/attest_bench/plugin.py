# SPDX-License-Identifier: MIT
"""A plugin and its kernels, called through the C interface."""

import ctypes
import re

from . import interface
from .errors import InvalidPlugin, NotTimed
from .interface import ABI_VERSION, CODES, CPU, CUDA, DTYPES


def text(value):
    return (value or b"").decode("ascii", "replace")


class Kernel:
    def __init__(self, native):
        self.native = native
        self.equation, self.form, self.reading = text(native.equation), text(native.form), text(native.reading)
        self.layout, self.capabilities, self.device = text(native.layout), text(native.capabilities), native.device
        self.dtype = DTYPES.get((native.dtype.code, native.dtype.bits))

    def title(self):
        """The form, and the profile where it is not the dtype's."""
        profile = re.search(r"profile == '(\w+)'", self.capabilities)
        return " ".join([self.form or "-", *(profile.groups() if profile else ())])

    def is_of(self, kind):
        """Whether it computes what the cases of a class ask for."""
        return (self.equation, self.reading) == (kind.equation, kind.reading)

    def answers(self, case):
        return self.is_of(case) and self.dtype == case.dtype


class Plugin:
    def __init__(self, path):
        self.path = path
        table = self.table()
        self.name, self.version = text(table.name), text(table.version)
        self.kernels = [Kernel(table.kernels[i]) for i in range(table.kernel_count)]
        if not self.kernels:
            raise InvalidPlugin(f"{path}: the plugin's table has no kernels")
        devices = {kernel.device for kernel in self.kernels}
        if devices != {CPU} and devices != {CUDA}:
            raise InvalidPlugin(
                f"{path}: kernels of devices {sorted(devices)}; "
                f"expected all of kDLCPU ({CPU}) or all of kDLCUDA ({CUDA})"
            )
        (self.device,) = devices

    def table(self):
        try:
            self.library = ctypes.CDLL(str(self.path))
        except OSError as error:
            raise InvalidPlugin(f"{self.path} cannot be loaded: {error}") from None
        try:
            entry = self.library.attest_plugin_v1
        except AttributeError:
            raise InvalidPlugin(f"{self.path} exports no function attest_plugin_v1") from None
        entry.restype = ctypes.POINTER(interface.Plugin)
        table = entry()
        if not table:
            raise InvalidPlugin(f"{self.path}: attest_plugin_v1 returned nothing")
        version = table.contents.abi_version
        if version != ABI_VERSION:
            raise InvalidPlugin(f"{self.path} has interface version {version}; this program knows {ABI_VERSION}")
        return table.contents


class Call:
    """One attest_call, and all that its pointers point to."""

    def __init__(self, kernel, case, memory, inputs, outputs):
        self.kernel, self.kept = kernel, [inputs, outputs]
        self.error = ctypes.create_string_buffer(1024)
        self.call = interface.Call(
            struct_size=ctypes.sizeof(interface.Call),
            equation=kernel.native.equation,
            form=kernel.native.form,
            inputs=self.tensors(case.inputs(), inputs, memory),
            input_count=len(inputs),
            outputs=self.tensors(case.outputs(), outputs, memory),
            output_count=len(outputs),
            parameters=self.parameters(case.parameters),
            parameter_count=len(case.parameters),
            stream=memory.stream(),
            error=ctypes.cast(self.error, ctypes.c_char_p),
            error_size=len(self.error),
        )
        size = kernel.native.workspace(ctypes.byref(self.call)) if kernel.native.workspace else 0
        if size:
            workspace = memory.workspace(size)
            self.kept.append(workspace)
            self.call.workspace, self.call.workspace_size = memory.pointer(workspace), size

    def array(self, kind, values):
        made = (kind * max(len(values), 1))(*values)
        self.kept.append(made)
        return ctypes.cast(made, ctypes.POINTER(kind))

    def parameters(self, values):
        return self.array(
            interface.Parameter,
            [
                interface.Parameter(
                    name=name.encode(),
                    given=1,
                    real=value if isinstance(value, (int, float)) else 0,
                    integer=value if isinstance(value, int) else 0,
                    text=value.encode() if isinstance(value, str) else None,
                )
                for name, value in values.items()
            ],
        )

    def tensors(self, declared, arrays, memory):
        return self.array(
            interface.Tensor,
            [
                interface.Tensor(name.encode(), self.tensor(tensor, arrays[name], memory))
                for name, tensor in declared.items()
            ],
        )

    def tensor(self, declared, array, memory):
        return interface.DLTensor(
            data=memory.pointer(array),
            device=interface.DLDevice(memory.device, 0),
            ndim=len(declared.shape),
            dtype=interface.DLDataType(*CODES[declared.dtype], 1),
            shape=self.array(ctypes.c_int64, list(declared.shape)),
            strides=self.array(ctypes.c_int64, list(memory.strides(array))),
            byte_offset=0,
        )

    def __call__(self):
        status = self.kernel.native.run(ctypes.byref(self.call))
        if status:
            raise NotTimed("failed", f"the kernel returned {status}: {text(self.error.value)}")

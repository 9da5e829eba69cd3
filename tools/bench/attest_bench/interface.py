# SPDX-License-Identifier: MIT
"""The C interface between a plugin and its caller, as ctypes.

The structures of attest/attest_kernel.h are read out of the header itself, which is where they are declared; those of
dlpack/dlpack.h, whose layout never changes, are declared here. tests/self/cli/test_bench.py compares every size and
offset with those of the C compiler."""

import ctypes
import pathlib
import re

HEADER = pathlib.Path(__file__).resolve().parents[3] / "specs/include/attest/attest_kernel.h"

CPU, CUDA = 1, 2  # DLDeviceType
DTYPES = {(2, 64): "f64", (2, 32): "f32", (2, 16): "f16", (4, 16): "bf16", (0, 64): "i64"}  # by DLDataType
CODES = {name: code for code, name in DTYPES.items()}


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


VALUES = {
    "int": ctypes.c_int,
    "double": ctypes.c_double,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "size_t": ctypes.c_size_t,
    "DLDeviceType": ctypes.c_int,
    "DLDataType": DLDataType,
    "DLTensor": DLTensor,
}
POINTERS = {"char": ctypes.c_char_p, "void": ctypes.c_void_p}

STRUCTURE = re.compile(r"typedef struct (\w+) \{(.*?)\} \1;", re.DOTALL)
FUNCTION = re.compile(r"(\w+) \(\*(\w+)\)\(const (\w+)\* \w+\)")
FIELD = re.compile(r"(?:const )?(\w+)(\*?) (\w+)")


def structures(header):
    """The ctypes of each structure of a C header by its name. Raises ValueError on a field of another kind than those
    that attest_kernel.h has: a value, a pointer, or a function of a pointer."""
    found = {}

    def field(declaration):
        if function := FUNCTION.fullmatch(declaration):
            result, name, argument = function.groups()
            return name, ctypes.CFUNCTYPE(VALUES[result], ctypes.POINTER(found[argument]))
        kind, pointer, name = FIELD.fullmatch(declaration).groups()
        if pointer:
            return name, POINTERS[kind] if kind in POINTERS else ctypes.POINTER(found[kind])
        return name, VALUES[kind]

    for name, body in STRUCTURE.findall(re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)):
        fields = []
        for declaration in filter(None, (" ".join(part.split()) for part in body.split(";"))):
            try:
                fields.append(field(declaration))
            except (AttributeError, KeyError):
                raise ValueError(f"{name}: cannot read the declaration '{declaration}'") from None
        found[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return found


header = HEADER.read_text()
ABI_VERSION = int(re.search(r"#define ATTEST_ABI_VERSION (\d+)", header)[1])
STRUCTURES = structures(header)
Tensor, Parameter, Call, Plugin = (STRUCTURES[f"attest_{name}"] for name in ("tensor", "parameter", "call", "plugin"))

# SPDX-License-Identifier: MIT
import json, struct
import numpy as np

raw = open("golden/positional/learned.safetensors", "rb").read()
start = 8 + struct.unpack("<Q", raw[:8])[0]
header = json.loads(raw[8:start])
cases = json.loads(header["__metadata__"]["cases"])
numbers = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "BOOL": "?"}


def tensor(name):
    entry = header[name]
    data = raw[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]]
    if entry["dtype"] == "BF16":
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(entry["shape"])
    return np.frombuffer(data, numbers[entry["dtype"]]).reshape(entry["shape"])


def right(case, output, got, units=(2**-24, 2**-24, 2**-19, 2**-24, 2**-126)):  # of profile f32
    hi, lo, bound = (tensor(f"{case:03}/output/{output}/{part}") for part in ("hi", "lo", "bound"))
    return bool(np.all(np.abs((got.astype("f8") - hi) - lo) <= np.tensordot(units, bound.astype("f8"), 1)))


for number, case in enumerate(cases):
    if case["flag"] == "later_start":
        x, table = (tensor(f"{number:03}/input/{name}").astype("f4") for name in ("x", "table"))
        first = int(case["query"].split("start=")[1].split(";")[0])
        print(case["query"], right(number, "y", x + table[first : first + len(x)]), right(number, "y", x))

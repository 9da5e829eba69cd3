# SPDX-License-Identifier: MIT
import json, pathlib, sys
import numpy as np

for page in sorted(pathlib.Path(sys.argv[1]).glob("case-*/case.json")):
    case = json.loads(page.read_text())
    x = {tensor["name"]: np.load(page.parent / tensor["file"]) for tensor in case["inputs"]}
    q, k, v, parameters = x["q"], x["k"], x["v"], case["parameters"]
    (n, d), s = q.shape, len(k)
    scale = d**-0.5 if parameters["scale"] is None else parameters["scale"]
    visible = np.tri(n, s, s - n if parameters["causal"] else s, dtype=bool) & x.get("mask", True)
    logits = np.where(visible, scale * (q @ k.T) + x.get("bias", 0), -np.inf)
    weights = np.exp(logits - np.maximum(logits.max(1, keepdims=True), np.finfo(q.dtype).min))
    total = weights.sum(1, keepdims=True)
    np.save(page.parent / "out/o.npy", weights @ v / np.where(total > 0, total, 1))

# SPDX-License-Identifier: MIT
# Runs in one part of the long tests: 2
"""jax.nn.dot_product_attention, a kernel that this project did not write, judged through files."""

import json
import re
import unittest

import support

try:
    import ml_dtypes
    import numpy as np

    import jax
    import jax.numpy as jnp

    MISSING = None
except ImportError as error:
    MISSING = f"needs numpy, ml_dtypes and jax: {error}"

EQUATION = "attention.scaled_dot_product"

# jax masks with a finite number, so that a query that sees nothing gets the mean of all values; and it
# aligns the causal order at the top left where queries and keys differ in number. Values are as wide as keys.
PLAIN = "m == d; softcap == 0; window_left < 0; window_right < 0; not sink"
CAPABILITIES = f"{PLAIN}; empty_row == 'mean'; not causal or n == s"


def load(path, dtype):
    array = np.load(path)
    return array.view(ml_dtypes.bfloat16) if dtype == "bf16" else array  # .npy has no name for bfloat16: it is V2


def save(path, array, dtype):
    array = np.ascontiguousarray(array)
    np.save(path, array.view("V2") if dtype == "bf16" else array)


def attend(case, inputs):
    """One case; jax wants batch, token, head, width, which NumPy gives without compiling anything."""
    q, k, v = (jnp.asarray(inputs[name][None, :, None, :]) for name in "qkv")
    mask, bias = (
        None if inputs.get(name) is None else jnp.asarray(inputs[name][None, None]) for name in ("mask", "bias")
    )
    parameters = case["parameters"]
    output = jax.nn.dot_product_attention(
        q, k, v, bias=bias, mask=mask, scale=parameters["scale"], is_causal=parameters["causal"]
    )
    return np.asarray(output)[0, :, 0, :]


def run_program(folder, attend=attend):
    """The program that a user would write between `attest emit` and `attest judge`."""
    index = json.loads((folder / "attest.json").read_text())
    for entry in index["cases"]:
        at = folder / entry["folder"]
        case = json.loads((at / "case.json").read_text())
        inputs = {tensor["name"]: load(at / tensor["file"], tensor["dtype"]) for tensor in case["inputs"]}
        (output,) = case["outputs"]
        save(at / output["file"], attend(case, inputs), output["dtype"])
    return index


def flag_of(query):
    return re.search("flag=([^;]*)", query)[1]


class Judged(unittest.TestCase):
    def emitted(self, profile, capabilities=CAPABILITIES, flags=None):
        """A folder of cases: all, or those of some flags. jax compiles anew for every shape."""
        folder = support.fresh_folder() / profile
        status, out, err = support.run(
            "emit", EQUATION, "--to", folder, "--profile", profile, "--capabilities", capabilities
        )
        self.assertEqual(status, 0, out + err)
        if flags:
            index = json.loads((folder / "attest.json").read_text())
            index["cases"] = [case for case in index["cases"] if flag_of(case["query"]) in flags]
            (folder / "attest.json").write_text(json.dumps(index))
        return folder

    def judged(self, folder, expected, *more):
        status, text, report = support.report_of("judge", folder, *more)
        self.assertEqual(status, expected, text)
        (row,) = report["rows"]
        print(
            f"{folder.name} {' '.join(more)}: {report['status']}, {row['cases']['passed']} of "
            f"{row['cases']['judged']} cases, worst "
            f"error/bound {row['worst']['ratio']} in {row['worst']['query']}"
        )
        return row


@unittest.skipIf(MISSING, MISSING)
class Jax(Judged):
    def passes(self, profile):
        folder = self.emitted(profile)
        index = run_program(folder)
        row = self.judged(folder, 0)
        self.assertEqual(row["cases"]["passed"], len(index["cases"]))
        self.assertLessEqual(row["worst"]["ratio"], 1)
        return folder, index

    def test_float32_passes_and_the_cases_reach_every_argument(self):
        _, index = self.passes("f32")
        flags = {flag_of(entry["query"]) for entry in index["cases"]}
        self.assertLessEqual(
            {"random", "masked", "biased", "custom_scale", "empty_row", "magnitude_100", "last_key_wins"}, flags
        )
        self.assertTrue(any("causal=true" in entry["query"] for entry in index["cases"]))

    def test_bfloat16_passes_its_profile_and_fails_that_of_float32(self):
        folder, _ = self.passes("bf16")
        row = self.judged(folder, 1, "--profile", "f32")
        self.assertIn("times the bound", row["failures"][0]["message"])

    def test_half_precision_matrix_products_fail_the_profile_of_float32(self):
        folder = self.emitted("f32", flags={"random"})

        def half(case, inputs):
            rounded = {name: x.astype(ml_dtypes.bfloat16) if name in "qkv" else x for name, x in inputs.items()}
            return attend(
                case,
                {**rounded, "bias": None if inputs.get("bias") is None else inputs["bias"].astype(ml_dtypes.bfloat16)},
            ).astype("f4")

        run_program(folder, half)
        self.judged(folder, 1)

    def test_wrong_convention_for_empty_rows_fails(self):
        flags = {"empty_row", "random", "masked", "biased"}
        folder = self.emitted("f32", f"{PLAIN}; empty_row == 'zero'; not causal", flags)
        run_program(folder)
        row = self.judged(folder, 1)
        self.assertEqual({flag_of(failure["query"]) for failure in row["failures"]}, {"empty_row"})
        self.assertEqual(set(row["groups"]) & flags, flags)

    def test_top_left_causal_order_fails(self):
        flags = {"random", "queries_differ_from_keys", "tile_edges"}
        folder = self.emitted("f32", f"{PLAIN}; causal == true; empty_row == 'mean'", flags)
        run_program(folder)
        row = self.judged(folder, 1)
        self.assertTrue(row["failures"])
        for failure in row["failures"]:
            sizes = dict(re.findall("([ns])=([0-9]+)", failure["query"]))
            self.assertNotEqual(sizes["n"], sizes["s"], failure)


if __name__ == "__main__":
    unittest.main()

// SPDX-License-Identifier: MIT
// A spec, and the file of reasons, as the build reads them.
#include "attest/spec.hpp"

#include "fuzz.hpp"

using namespace attest;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  try {
    const Spec spec = parse_spec(text, "linear/causal.toml", reasons());
    fuzz::require(spec.id == "linear.causal", "the path spells the id");
    fuzz::require(!spec.inputs.empty() && !spec.outputs.empty() && !spec.forms.empty(),
                  "there is something to compute");
  } catch (const SpecError&) {
  }
  try {
    parse_reasons(text);
  } catch (const SpecError&) {
  }
  return 0;
}

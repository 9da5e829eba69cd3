// SPDX-License-Identifier: MIT
// attest.json of an emitted folder, as `attest judge` reads it.
#include "attest/golden/case.hpp"
#include "attest/golden/profile.hpp"
#include "attest/judge/capabilities.hpp"
#include "cli/usage_error.hpp"
#include "cli/written.hpp"
#include "fuzz.hpp"

using namespace attest;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const cli::FolderIndex index = cli::parse_index(fuzz::text_of(data, size), "input");
    const Spec& spec = find_spec(index.equation);
    golden::profile(index.profile);
    const judge::Capabilities capabilities(spec, index.capabilities);
    for (const auto& [query, _] : index.cases) golden::parse_query(query);
  } catch (const cli::UsageError&) {
  } catch (const SpecError&) {
  }
  return 0;
}

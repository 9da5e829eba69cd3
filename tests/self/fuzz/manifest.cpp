// SPDX-License-Identifier: MIT
// The files beside golden files.
#include "attest/golden/manifest.hpp"

#include <stdexcept>

#include "fuzz.hpp"

using namespace attest;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  try {
    fuzz::require(golden::serialize(golden::parse_manifest(text, "input")) == text, "a manifest has one text");
  } catch (const std::runtime_error&) {
  }
  return 0;
}

// SPDX-License-Identifier: MIT
// Golden files.
#include "attest/golden/safetensors.hpp"

#include <stdexcept>

#include "fuzz.hpp"

using namespace attest;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const golden::Safetensors file = golden::parse_safetensors(fuzz::text_of(data, size), "input");
    for (const auto& [_, tensor] : file.tensors)
      fuzz::require(golden::load(tensor).size() == count(tensor.shape), "a tensor has the elements of its shape");
    const std::string bytes = golden::serialize(file);
    fuzz::require(golden::serialize(golden::parse_safetensors(bytes, "again")) == bytes, "canonical bytes stay so");
  } catch (const std::runtime_error&) {
  }
  return 0;
}

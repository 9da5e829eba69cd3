// SPDX-License-Identifier: MIT
// Outputs that a program wrote into an emitted folder.
#include "attest/golden/npy.hpp"

#include <stdexcept>

#include "fuzz.hpp"

using namespace attest;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const golden::StoredTensor tensor = golden::parse_npy(fuzz::text_of(data, size), "input");
    fuzz::require(golden::load(tensor).size() == count(tensor.shape), "a tensor has the elements of its shape");
    const auto again = golden::parse_npy(golden::serialize_npy(tensor), "again");
    fuzz::require(again.dtype == tensor.dtype && again.shape == tensor.shape && again.bytes == tensor.bytes,
                  "what is written is read");
  } catch (const std::runtime_error&) {
  }
  return 0;
}

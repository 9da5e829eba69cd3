// SPDX-License-Identifier: MIT
// A report of `attest check --json`, as `attest coverage --kernels` reads it.
#include "cli/usage_error.hpp"
#include "cli/written.hpp"
#include "fuzz.hpp"

using namespace attest;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto report = cli::parse_report(fuzz::text_of(data, size), "input");
    for (const auto& row : report.at("rows"))
      for (const char* key : {"equation", "dtype", "status"}) row.at(key).get<std::string>();
  } catch (const cli::UsageError&) {
  }
  return 0;
}

// SPDX-License-Identifier: MIT
// certify PROJECT INTO K N: certifies every golden case of every Nth spec, from the Kth on, and writes the files into a folder. What
// `attest golden regenerate` does, without the judge: what a second compiler has to build to compare bytes.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>

#include "attest/golden/store.hpp"

int main(int argc, char** argv) {
  const std::size_t number = argc == 5 ? std::strtoul(argv[3], nullptr, 10) : 0, parts = argc == 5 ? std::strtoul(argv[4], nullptr, 10) : 0;
  if (number < 1 || number > parts) {
    fmt::print(stderr, "usage: {} PROJECT INTO K N, with 1 <= K <= N\n", argv[0]);
    return 2;
  }
  try {
    std::vector<const attest::Spec*> part;
    std::size_t i = 0;
    for (const auto& [id, spec] : attest::specs())
      if (i++ % parts == number - 1) part.push_back(&spec);
    std::filesystem::create_directories(argv[2]);
    attest::golden::regenerate(part, argv[1], argv[2], {});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

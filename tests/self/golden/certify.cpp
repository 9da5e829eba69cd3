// SPDX-License-Identifier: MIT
// certify PROJECT INTO: certifies every golden case of every spec and writes the files into a folder. What `attest
// golden regenerate` does, without the judge: what a second compiler has to build to compare bytes.
#include <fmt/format.h>

#include <exception>
#include <filesystem>

#include "attest/golden/store.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} PROJECT INTO\n", argv[0]);
    return 2;
  }
  try {
    std::vector<const attest::Spec*> all;
    for (const auto& [id, spec] : attest::specs()) all.push_back(&spec);
    std::filesystem::create_directories(argv[2]);
    attest::golden::regenerate(all, argv[1], argv[2], {});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

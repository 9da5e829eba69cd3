// SPDX-License-Identifier: MIT
// The main of all unit tests: one that starts plugin processes is its own worker.
#include <gtest/gtest.h>

#include "attest/judge/process.hpp"

int main(int argc, char** argv) {
  attest::judge::serve_if_worker(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

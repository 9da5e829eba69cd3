// SPDX-License-Identifier: MIT
#include "attest/golden/store.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "attest/golden/files.hpp"

namespace attest::golden {
namespace {

namespace fs = std::filesystem;

TEST(LoadGolden, RefusesAFileThatIsNotTheManifests) {
  const Spec& spec = find_spec("attention.softmax");
  const fs::path project = fs::path(ATTEST_PROJECT_DIR) / "golden";
  const fs::path folder = fs::path(testing::TempDir()) / ("attest-store-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  fs::copy(project / spec.family(), folder / spec.family());
  EXPECT_EQ(load_golden(spec, folder).size(), stored_cases(spec).size());
  // The last byte belongs to a certified number: nothing but the hash can tell.
  std::string bytes = read_file(folder / file_of(spec));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file_atomically(folder / file_of(spec), bytes);
  try {
    load_golden(spec, folder);
    ADD_FAILURE() << "a damaged file was accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("its SHA-256 is not the manifest's"), std::string::npos) << error.what();
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attest::golden

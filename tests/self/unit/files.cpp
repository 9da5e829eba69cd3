// SPDX-License-Identifier: MIT
#include "attest/golden/files.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "attest/golden/out_of_memory.hpp"

namespace attest::golden {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for every test.
class Files : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "attest-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  fs::path at(const std::string& name) const { return folder_ / name; }

  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    return names;
  }

  /// Reading and writing without the code under test.
  static std::string contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

  fs::path folder_;
};

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

testing::AssertionResult says(const std::string& message, const std::string& wanted) {
  if (message.find(wanted) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << message << "' does not say '" << wanted << "'";
}

std::string every_byte(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 131 >> 3);
  return bytes;
}

TEST_F(Files, WhatIsWrittenIsRead) {
  for (const std::size_t size : {0u, 1u, 65535u, 65536u, 65537u, 3000000u}) {
    const std::string bytes = every_byte(size);
    write_file_atomically(at("file"), bytes);
    EXPECT_TRUE(contents(at("file")) == bytes) << size;
    EXPECT_TRUE(read_file(at("file")) == bytes) << size;
    EXPECT_EQ(listing(), std::vector<std::string>{"file"});
  }
}

TEST_F(Files, AShorterFileReplacesALongerOneWhole) {
  put(at("file"), every_byte(5000));
  write_file_atomically(at("file"), "short");
  EXPECT_EQ(contents(at("file")), "short");
}

TEST_F(Files, AReaderKeepsTheOldFileWhileItIsReplaced) {
  put(at("file"), "old");
  std::ifstream reader(at("file"));
  write_file_atomically(at("file"), "new");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old") << "it was overwritten in place";
  EXPECT_EQ(contents(at("file")), "new");
}

TEST_F(Files, ALeftoverTemporaryFileIsNoObstacle) {
  put(at("file.tmp-" + std::to_string(::getpid())), every_byte(100));
  write_file_atomically(at("file"), "new");
  EXPECT_EQ(contents(at("file")), "new");
  EXPECT_EQ(listing(), std::vector<std::string>{"file"});
}

TEST_F(Files, MissingFolder) {
  const fs::path path = at("missing") / "file";
  for (const std::string& message :
       {refusal([&] { write_file_atomically(path, "x"); }), refusal([&] { read_file(path); })}) {
    EXPECT_TRUE(says(message, path.string()));
    EXPECT_TRUE(says(message, "No such file or directory"));
  }
  EXPECT_TRUE(listing().empty());
}

TEST_F(Files, MissingFile) {
  const std::string message = refusal([&] { read_file(at("none")); });
  EXPECT_TRUE(says(message, at("none").string()));
  EXPECT_TRUE(says(message, "No such file or directory"));
}

TEST_F(Files, AFolderIsNoFile) {
  fs::create_directory(at("folder"));
  put(at("folder") / "inside", "kept");
  for (const std::string& message :
       {refusal([&] { write_file_atomically(at("folder"), "x"); }), refusal([&] { read_file(at("folder")); })}) {
    EXPECT_TRUE(says(message, at("folder").string()));
    EXPECT_TRUE(says(message, "Is a directory"));
  }
  EXPECT_EQ(listing(), std::vector<std::string>{"folder"});
  EXPECT_EQ(contents(at("folder") / "inside"), "kept");
}

TEST_F(Files, WhatIsNoRegularFileIsNotReplaced) {
  // A pipe stands for /dev/null, which a rename by root would replace for the whole machine.
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(says(refusal([&] { write_file_atomically(at("pipe"), "x"); }), at("pipe").string()));
  EXPECT_EQ(fs::status(at("pipe")).type(), fs::file_type::fifo);
  EXPECT_EQ(listing(), std::vector<std::string>{"pipe"});
}

/// Runs the action in a child whose files cannot grow past `limit` bytes: a full disk, as far as write() can tell.
/// The child's exit status is 0 when the action threw a message with all of `wanted`.
int with_full_disk(rlim_t limit, const std::function<void()>& action, const std::vector<std::string>& wanted) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Without this the limit kills instead of failing the write.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit size{limit, limit};
    if (::setrlimit(RLIMIT_FSIZE, &size) != 0) ::_exit(3);
    int status = 1;
    try {
      action();
    } catch (const std::runtime_error& error) {
      status = 0;
      for (const std::string& text : wanted) {
        if (!says(error.what(), text)) status = 2;
      }
    } catch (...) {
      status = 4;
    }
    ::_exit(status);
  }
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST_F(Files, AFullDiskLeavesTheOldFileAndNothingElse) {
  const std::string old = every_byte(12345);
  put(at("file"), old);
  // Nothing can be written; some can; all but the last byte can.
  for (const rlim_t limit : {rlim_t{0}, rlim_t{4096}, rlim_t{99999}}) {
    const int status = with_full_disk(limit, [&] { write_file_atomically(at("file"), every_byte(100000)); },
                                      {at("file").string(), "File too large"});
    EXPECT_EQ(status, 0) << "limit " << limit;
    EXPECT_TRUE(contents(at("file")) == old) << "limit " << limit;
    EXPECT_EQ(listing(), std::vector<std::string>{"file"}) << "limit " << limit;
  }
}

TEST_F(Files, AFullDiskLeavesNoNewFile) {
  const int status =
      with_full_disk(10, [&] { write_file_atomically(at("new"), every_byte(11)); }, {at("new").string()});
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(listing().empty());
}

TEST_F(Files, AFileThatJustFitsIsWritten) {
  EXPECT_EQ(with_full_disk(10, [&] { write_file_atomically(at("new"), every_byte(10)); }, {}), 1) << "it threw";
  EXPECT_EQ(contents(at("new")), every_byte(10));
}

TEST(Sha256, KnownVectors) {
  // FIPS 180-4's examples.
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, ZeroBytesCount) { EXPECT_NE(sha256(std::string(1, '\0')), sha256("")); }

TEST_F(Files, OutOfMemoryInAnotherThreadLeavesNoTemporaryFile) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string bytes(std::size_t{1} << 22, 'x');
    std::thread writer([&] {
      for (;;) write_file_atomically(at("file"), bytes);
    });
    for (;;)
      for (const auto& entry : fs::directory_iterator(folder_))
        if (entry.path().filename() != "file") end_out_of_memory();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  for (const auto& name : listing()) EXPECT_EQ(name, "file");
}

}  // namespace
}  // namespace attest::golden

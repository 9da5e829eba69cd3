// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace attest::jobs {

/// What a job has finished, in a folder: a file of each run and rank, which only grows. Its first line says which job
/// it is of; then follow "began" and "done" with the key of an item, "done" also with its seconds and its result. Each
/// record has a checksum: what a killed process has half written ends the file.
class Journal {
public:
  struct Done {
    double seconds = 0;
    std::string result;
  };
  /// What all files of a folder say.
  struct Kept {
    std::map<std::string, Done> done;
    std::map<std::string, int> under_way;  // items that were begun and not finished, by the rank that had them
    int runs = 0;                          // so many have written there
  };
  /// Throws std::runtime_error where a file is of another job, or no journal.
  static Kept read(const std::filesystem::path& folder, const std::string& identity);

  /// Begins the file of that run and rank; makes the folder. Throws std::system_error.
  Journal(const std::filesystem::path& folder, int run, int rank, const std::string& identity);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void began(const std::string& key);
  /// On the disk when it returns.
  void done(const std::string& key, double seconds, std::string_view result);

private:
  void write(std::string_view bytes);
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  int file_ = -1;
  std::mutex mutex_;
};

}  // namespace attest::jobs

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attest::judge {

/// What one run computed and the next one needs again, in a file for each key. Only the program that kept it reads it,
/// where functions of the C library and sums in 80 bits have the same last bits: the files of another build, told apart
/// by the linker's build id, and of another arithmetic are as if they were not there. A file that is damaged, or
/// belongs to another key, is computed again. Threads and processes may share a folder.
class Cache {
public:
  /// Keeps nothing where the folder is empty. It is made when something is kept.
  explicit Cache(std::filesystem::path folder);
  /// Removes what was used the longest ago, of every build, while there is more than `kMostBytes`.
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  /// False where nothing is kept.
  bool is_on() const { return !of_build_.empty(); }

  /// What is kept under the key, or what `make` gives, which is then kept. Of what is kept some is made again, as
  /// is_to_be_checked() says, and must be the same to the byte: throws as reject() does where it is not.
  std::string find_or_make(const std::string& key, const std::function<std::string()>& make);

  std::optional<std::string> find(const std::string& key) const;
  /// Where a file cannot be written, as on a full disk, nothing is kept.
  void keep(const std::string& key, std::string_view bytes);

  /// True for one in `kChecked` calls, by chance: what was found is then to be computed again and compared, since
  /// whoever can write to the folder can make a wrong kernel pass.
  bool is_to_be_checked();
  /// Throws std::runtime_error: what was found under the key is not what was computed.
  [[noreturn]] void reject(const std::string& key) const;

  static constexpr std::uint64_t kChecked = 251;  // a prime: of kinds that are asked for in turn, each has its turn
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 30;

private:
  std::filesystem::path file_of(const std::string& key) const;

  std::filesystem::path folder_;    // of all builds
  std::filesystem::path of_build_;  // and of this arithmetic; empty: keeps nothing
  std::atomic<std::uint64_t> asked_;
  std::atomic<bool> has_written_ = false;
};

/// ATTEST_CACHE; empty where there is no such variable.
std::filesystem::path cache_folder();

}  // namespace attest::judge

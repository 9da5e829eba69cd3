// SPDX-License-Identifier: MIT
#include "journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "attest/golden/files.hpp"

namespace attest::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "attest journal 1: ";

/// "3-1.journal" of run 3, rank 1.
struct Name {
  int run = 0, rank = 0;

  static std::optional<Name> parse(const fs::path& path) {
    Name name;
    int end = 0;
    const std::string text = path.filename();
    if (std::sscanf(text.c_str(), "%d-%d.journal%n", &name.run, &name.rank, &end) == 2 &&
        end == static_cast<int>(text.size()))
      return name;
    return std::nullopt;
  }
  std::string text() const { return fmt::format("{}-{}.journal", run, rank); }
};

/// "HEAD KEY_BYTES RESULT_BYTES SHA256\n", the key, the result, "\n".
std::string record(const std::string& head, const std::string& key, std::string_view result) {
  std::string body = key;
  body += result;
  return fmt::format("{} {} {} {}\n{}\n", head, key.size(), result.size(), golden::sha256(head + body), body);
}

struct Record {
  std::string kind, key;
  double seconds = 0;
  std::string result;
};

/// The record at a place, which is moved behind it; nothing where there is no whole one.
std::optional<Record> next(const std::string& bytes, std::size_t& at) {
  const auto end = bytes.find('\n', at);
  if (end == std::string::npos) return std::nullopt;
  const std::string line = bytes.substr(at, end - at);
  Record record;
  std::istringstream words(line);
  std::string hash, seconds;
  std::size_t key = 0, result = 0;
  if (!(words >> record.kind)) return std::nullopt;
  if (record.kind == "done" && !(words >> seconds)) return std::nullopt;
  if (!(words >> key >> result >> hash)) return std::nullopt;
  const std::size_t left = bytes.size() - (end + 1);
  if (key > left || result > left - key || left - key - result < 1) return std::nullopt;
  const std::string body = bytes.substr(end + 1, key + result);
  const std::string head = record.kind + (seconds.empty() ? "" : " " + seconds);
  if (golden::sha256(head + body) != hash || bytes[end + 1 + body.size()] != '\n') return std::nullopt;
  if (!seconds.empty()) record.seconds = std::stod(seconds);
  record.key = body.substr(0, key), record.result = body.substr(key);
  at = end + 1 + body.size() + 1;
  return record;
}

}  // namespace

Journal::Kept Journal::read(const fs::path& folder, const std::string& identity) {
  Kept kept;
  std::vector<std::pair<Name, fs::path>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (const auto name = Name::parse(entry.path())) files.emplace_back(*name, entry.path());
  if (error) throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
  if (files.empty()) throw std::runtime_error(fmt::format("{} has no journal of a job", folder.string()));
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.run, a.first.rank) < std::pair(b.first.run, b.first.rank);
  });
  for (const auto& [name, path] : files) {
    kept.runs = std::max(kept.runs, name.run);
    const std::string bytes = golden::read_file(path);
    const auto end = bytes.find('\n');
    if (end == std::string::npos) continue;  // ended while it was begun
    if (!bytes.starts_with(kMagic)) throw std::runtime_error(fmt::format("{} is no journal of a job", path.string()));
    const std::string said = bytes.substr(kMagic.size(), end - kMagic.size());
    if (said != identity)
      throw std::runtime_error(
          fmt::format("{} is of another job: '{}'; this one is '{}'", path.string(), said, identity));
    std::size_t at = end + 1;
    while (auto one = next(bytes, at)) {
      if (one->kind == "began") {
        kept.under_way[one->key] = name.rank;
      } else {
        kept.under_way.erase(one->key);
        kept.done[one->key] = {one->seconds, std::move(one->result)};
      }
    }
  }
  for (const auto& [key, _] : kept.done) kept.under_way.erase(key);
  return kept;
}

Journal::Journal(const fs::path& folder, int run, int rank, const std::string& identity)
    : path_(folder / Name{run, rank}.text()) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw std::system_error(error, fmt::format("cannot make {}", folder.string()));
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) fail();
  write(fmt::format("{}{}\n", kMagic, identity));
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);  // what was done is on the disk
}

void Journal::began(const std::string& key) { write(record("began", key, "")); }

void Journal::done(const std::string& key, double seconds, std::string_view result) {
  write(record(fmt::format("done {:.6f}", seconds), key, result));
  if (::fsync(file_) != 0) fail();
}

void Journal::write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Journal::fail() const {
  throw std::system_error(errno, std::generic_category(), fmt::format("cannot write {}", path_.string()));
}

}  // namespace attest::jobs

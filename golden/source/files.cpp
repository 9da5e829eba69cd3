// SPDX-License-Identifier: MIT
#include "attest/golden/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <system_error>

#include "attest/golden/out_of_memory.hpp"

namespace attest::golden {
namespace {

[[noreturn]] void fail(std::string_view action, const std::filesystem::path& path, int error) {
  throw std::system_error(error, std::generic_category(), fmt::format("cannot {} {}", action, path.string()));
}

/// An open file, closed on every way out.
class Descriptor {
public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

  /// Some file systems report a failed write only here. The number is free afterwards even when this fails.
  int close() {
    const int number = number_;
    number_ = -1;
    return ::close(number);
  }

private:
  int number_;
};

/// A file that disappears unless it was renamed, also where the process ends because a thread gets no memory. Nothing
/// is allocated under the lock.
class TemporaryFile {
public:
  explicit TemporaryFile(std::filesystem::path path) : path_(std::move(path)) {
    static std::once_flag once;
    std::call_once(once, [] { when_out_of_memory(remove_all); });
    const std::lock_guard lock(mutex_);
    next_ = first_;
    first_ = this;
  }
  ~TemporaryFile() {
    const std::lock_guard lock(mutex_);
    TemporaryFile** at = &first_;
    while (*at != this) at = &(*at)->next_;
    *at = next_;
    if (exists_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const char* path() const { return path_.c_str(); }

  // Under the lock, so that a process that ends sees what is on the disk.
  int open(int flags) {
    const std::lock_guard lock(mutex_);
    const int number = ::open(path(), flags, 0666);
    exists_ = number >= 0;
    return number;
  }
  int rename(const char* to) {
    const std::lock_guard lock(mutex_);
    const int status = std::rename(path(), to);
    if (status == 0) exists_ = false;
    return status;
  }

private:
  /// Keeps the lock: the process ends.
  static void remove_all() {
    mutex_.lock();
    for (const TemporaryFile* file = first_; file != nullptr; file = file->next_)
      if (file->exists_) ::unlink(file->path());
  }

  static inline std::mutex mutex_;
  static inline TemporaryFile* first_ = nullptr;

  std::filesystem::path path_;
  bool exists_ = false;
  TemporaryFile* next_ = nullptr;
};

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail("open", path, errno);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) fail("read", path, errno);

  // The size is only a first guess (pipes have none): reading goes on to the end of the file. One byte more lets the
  // read that finds the end fit without growing.
  std::string bytes;
  bytes.resize(S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) + 1 : 65536);
  std::size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(2 * bytes.size());
    const ssize_t count = ::read(file.number(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path, errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  bytes.resize(filled);
  return bytes;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes, Sync sync) {
  // Renaming onto /dev/null as root would replace the device for the whole machine.
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) fail("write", path, EISDIR);
    throw std::runtime_error(fmt::format("cannot write {}: not a regular file", path.string()));
  }

  std::filesystem::path beside = path;
  beside += fmt::format(".tmp-{}", ::getpid());
  // Not O_EXCL: in a container a killed run's process id, and so its left-over name, comes back.
  TemporaryFile temporary(std::move(beside));
  Descriptor file(temporary.open(O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC));
  if (file.number() < 0) fail("write", path, errno);

  while (!bytes.empty()) {
    const ssize_t count = ::write(file.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  // Without the sync, a crash after the rename could leave the new name on empty contents.
  if (sync == Sync::yes && ::fsync(file.number()) != 0) fail("write", path, errno);
  if (file.close() != 0) fail("write", path, errno);
  if (temporary.rename(path.c_str()) != 0) fail("write", path, errno);
}

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL cannot compute SHA-256");
  }
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace attest::golden

// SPDX-License-Identifier: MIT
#include "attest/golden/files.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace attest::golden {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* doing) {
  throw std::runtime_error(path.string() + ": cannot " + doing + ": " + std::strerror(errno));
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  errno = 0;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(path, "open");
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int reason = errno;
      ::close(file);
      errno = reason;
      fail(path, "read");
    }
    if (got == 0) break;
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(file);
  return bytes;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path beside = path;
  beside += ".tmp-" + std::to_string(::getpid());
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail(path, "write");
  const auto give_up = [&](const char* doing, bool open) {
    const int reason = errno;
    if (open) ::close(file);
    ::unlink(beside.c_str());
    errno = reason;
    fail(path, doing);
  };
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(file, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) give_up("write", true);
    done += static_cast<std::size_t>(put);
  }
  if (::fsync(file) != 0) give_up("write", true);
  if (::close(file) != 0) give_up("write", false);
  if (::rename(beside.c_str(), path.c_str()) != 0) give_up("replace", false);
}

std::string sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) != 1) throw std::runtime_error("SHA-256 is not available");
  std::string text;
  constexpr char digits[] = "0123456789abcdef";
  for (unsigned int i = 0; i < size; ++i) {
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

}  // namespace attest::golden

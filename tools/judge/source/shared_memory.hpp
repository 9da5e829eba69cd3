// SPDX-License-Identifier: MIT
// The memory that a parent shares with its worker. Private to the judge.
#pragma once

#include <cstddef>

#include "protocol.hpp"

namespace attest::judge {

std::size_t page_size();
std::size_t round_up(std::size_t size, std::size_t multiple);

/// Throws std::system_error of errno.
[[noreturn]] void throw_errno(const char* problem);

/// A file descriptor that is closed on exec and numbered above those that the child gets.
class Descriptor {
public:
  Descriptor() = default;
  /// Takes the descriptor over; throws when it is negative, as after a failed call.
  explicit Descriptor(int fd);
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return fd_; }
  void close();

private:
  int fd_ = -1;
};

/// A memory file, mapped here and given to the child. It only grows; the control page is its first.
class SharedMemory {
public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Makes it at least `size` bytes long. Pointers into it are invalid afterwards.
  void grow(std::size_t size);

  int fd() const { return fd_.get(); }
  unsigned char* at(std::size_t offset) const { return begin_ + offset; }
  protocol::Control& control() const { return *reinterpret_cast<protocol::Control*>(begin_); }
  void reset_control();

private:
  Descriptor fd_;
  unsigned char* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace attest::judge

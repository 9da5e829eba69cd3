// SPDX-License-Identifier: MIT
#include "shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace attest::judge {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t round_up(std::size_t size, std::size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

void throw_errno(const char* problem) { throw std::system_error(errno, std::generic_category(), problem); }

Descriptor::Descriptor(int fd) : fd_(fd) {
  if (fd_ < 0) throw_errno("cannot open a descriptor");
  if (fd_ > protocol::memory_fd) return;
  const int moved = ::fcntl(fd_, F_DUPFD_CLOEXEC, protocol::memory_fd + 1);
  const int error = errno;
  ::close(fd_);
  fd_ = moved;
  errno = error;
  if (fd_ < 0) throw_errno("cannot duplicate a descriptor");
}

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

SharedMemory::SharedMemory() : fd_(::memfd_create("attest", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  grow(std::size_t{1} << 20);
  // The plugin has this file too. Unsealed, it could shrink it, and the parent's next access would be a SIGBUS.
  if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) throw_errno("cannot seal the memory");
}

SharedMemory::~SharedMemory() { ::munmap(begin_, size_); }

void SharedMemory::grow(std::size_t size) {
  if (size <= size_) return;
  size = std::max(round_up(size, page_size()), size_ + size_ / 2 / page_size() * page_size());
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) throw_errno("cannot grow the shared memory");
  void* begin = begin_ == nullptr ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0)
                                  : ::mremap(begin_, size_, size, MREMAP_MAYMOVE);
  if (begin == MAP_FAILED) throw_errno("cannot map the shared memory");
  begin_ = static_cast<unsigned char*>(begin);
  size_ = size;
}

void SharedMemory::reset_control() { new (at(0)) protocol::Control{}; }

}  // namespace attest::judge

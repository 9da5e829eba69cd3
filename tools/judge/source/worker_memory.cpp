// SPDX-License-Identifier: MIT
#include "worker_memory.hpp"

#include <unistd.h>

#include "worker_process.hpp"

namespace attest::judge {
namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

void* reserve(std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

}  // namespace

ReservedAddresses::ReservedAddresses() {
  for (; size >= protocol::least_addresses; size /= 2) {
    begin = reserve(size);
    if (begin != MAP_FAILED) return;
  }
  give_up_on("cannot reserve address space for tensors");
}

char* make_error_buffer() {
  const std::size_t page = page_bytes();
  static_assert(protocol::error_size <= 4096);
  char* pages = static_cast<char*>(reserve(3 * page));
  if (pages == MAP_FAILED || ::mprotect(pages + page, page, PROT_READ | PROT_WRITE) != 0)
    give_up_on("cannot allocate the error buffer");
  char* end = pages + 2 * page;
  control->error_end = reinterpret_cast<std::uintptr_t>(end);
  return end - protocol::error_size;
}

void Mapping::map(const Place& region, int protection) {
  size_ = region.size;
  address_ = reinterpret_cast<char*>(static_cast<std::uintptr_t>(region.address));
  // Populating costs less than one fault per page, and keeps the faults out of the kernel's time.
  if (size_ != 0 && ::mmap(address_, size_, protection, MAP_SHARED | MAP_FIXED | MAP_POPULATE, protocol::memory_fd,
                           static_cast<off_t>(region.file)) == MAP_FAILED)
    give_up_on("cannot map a tensor");
}

void Mapping::unmap() const {
  if (size_ != 0 &&
      ::mmap(address_, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    give_up_on("cannot unmap a tensor");
}

bool Mapping::extend_to(const Mapping& other) {
  if (other.size_ == 0) return true;
  if (size_ == 0) address_ = other.address_;
  if (other.address_ < address_ + size_) return false;
  size_ = static_cast<std::size_t>(other.address_ - address_) + other.size_;
  return true;
}

void Mapping::protect(int protection) const {
  if (::mprotect(address_, size_, protection) != 0) give_up_on("cannot protect a tensor");
}

void Mapping::send(const CudaDriver& device) {
  const auto page = static_cast<std::uint64_t>(page_bytes());
  allocated_ = device.allocate(size_ + page);
  placed_ = (allocated_ + page - 1) / page * page;
  device.upload(placed_, address_, size_);
  protect(PROT_NONE);
}

void Mapping::fetch(const CudaDriver& device) {
  protect(PROT_READ | PROT_WRITE);
  device.download(address_, placed_, size_);
  device.free(allocated_);
}

void* Mapping::at(std::size_t offset) const {
  return on_device() ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(placed_ + offset)) : address_ + offset;
}

}  // namespace attest::judge

// SPDX-License-Identifier: MIT
// Memory of the worker: the addresses that tensors are mapped at, and their copies on a device. Private to the judge.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "cuda_driver.hpp"
#include "messages.hpp"
#include "protocol.hpp"

namespace attest::judge {

/// Address range in which the parent places tensors. It is much larger than any call needs, so that calls can take
/// turns in it: a thread that outlives its call then hits an inaccessible page and not a tensor of the next call.
struct ReservedAddresses {
  void* begin = MAP_FAILED;
  std::size_t size = std::size_t{64} << 30;

  ReservedAddresses();
};

/// A buffer of protocol::error_size bytes that ends at a guard page: a kernel that ignores error_size must not damage
/// this process unseen.
char* make_error_buffer();

/// A range of the shared memory at the address that the parent chose, and its copy on a device.
class Mapping {
public:
  /// Maps a region of a request. `protection` is mmap's.
  void map(const Place& region, int protection);
  void unmap() const;
  /// Extends this to the end of a mapping behind it, so that both and what lies between are unmapped at once; false
  /// where the other does not lie behind.
  bool extend_to(const Mapping& other);

  /// Puts a copy of the range on the device, at an address that is a multiple of all that the one here is a multiple
  /// of. The range here cannot be reached until fetch().
  void send(const CudaDriver& device);

  /// Brings the copy back from the device, for the parent to see.
  void fetch(const CudaDriver& device);
  bool on_device() const { return placed_ != 0; }

  /// Address of the byte at an offset, for the kernel.
  void* at(std::size_t offset) const;

private:
  void protect(int protection) const;

  char* address_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t allocated_ = 0, placed_ = 0;  // on the device
};

}  // namespace attest::judge

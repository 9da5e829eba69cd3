// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "attest/view.hpp"

namespace attest::openmp::engine {

/// Memory of one thread, kept from call to call, aligned for every vector.
template <class T>
class Memory {
public:
  static constexpr std::align_val_t kAlignment{64};

  T* of(Index size) {
    const auto count = static_cast<std::size_t>(size);
    if (count > size_) {
      data_.reset();
      data_.reset(static_cast<T*>(::operator new(count * sizeof(T), kAlignment)));
      size_ = count;
    }
    return data_.get();
  }

private:
  struct Free {
    void operator()(T* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

template <class T>
T* scratch(Index size) {
  thread_local Memory<T> memory;
  return memory.of(size);
}

}  // namespace attest::openmp::engine

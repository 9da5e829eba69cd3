// SPDX-License-Identifier: MIT
#pragma once

#include <boost/context/fiber.hpp>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define ATTEST_CUDA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTEST_CUDA_ASAN 1
#endif
#endif

namespace attest::cuda::emulation {

/// The stacks of one block's threads, each above a guard page: a kernel that overflows its stack crashes at once.
class Stacks {
public:
  Stacks();
  ~Stacks();
  Stacks(const Stacks&) = delete;
  boost::context::stack_context of(unsigned thread);
  bool contains(const void* address) const;

private:
  std::byte* memory_;
  unsigned guarded_ = 0;  // stacks below this number have their guard page
};

/// A thread of the block as a coroutine: `self` is set while it is suspended, `scheduler` while it runs.
struct Fiber {
  boost::context::fiber self, scheduler;
  boost::context::stack_context stack;

  /// Both return when the other side switches back.
  void resume();
  void suspend();

  // Announce a switch of stacks to the address sanitizer; without it they do nothing.
  void* fake_stack = nullptr;
  const void* scheduler_bottom = nullptr;
  std::size_t scheduler_size = 0;
  void arrived();
  void leaving(bool for_good);
};

}  // namespace attest::cuda::emulation

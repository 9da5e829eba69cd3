// SPDX-License-Identifier: MIT
#include "fiber.hpp"

#include "attest/cuda/emulated/block.hpp"

#include <sys/mman.h>

#if defined(ATTEST_CUDA_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace attest::cuda::emulation {

namespace {

#if defined(ATTEST_CUDA_ASAN)
constexpr std::size_t stack_bytes = 512 * 1024;
#else
constexpr std::size_t stack_bytes = 128 * 1024;
#endif
constexpr std::size_t page = 4096;
constexpr std::size_t all_stacks = stack_bytes * block_limit;

}  // namespace

Stacks::Stacks() {
  void* memory =
      ::mmap(nullptr, all_stacks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw Error("emulation: no address space for the stacks of a block");
  memory_ = static_cast<std::byte*>(memory);
}
Stacks::~Stacks() { ::munmap(memory_, all_stacks); }

boost::context::stack_context Stacks::of(unsigned thread) {
  for (; guarded_ <= thread; ++guarded_) ::mprotect(memory_ + guarded_ * stack_bytes, page, PROT_NONE);
  // Stacks that begin at different lines of the caches do not push each other out of them.
  const std::size_t shift = thread % 32 * 256;
  boost::context::stack_context stack;
  stack.sp = memory_ + (thread + 1) * stack_bytes - shift;
  stack.size = stack_bytes - page - shift;
  return stack;
}
bool Stacks::contains(const void* address) const { return memory_ <= address && address < memory_ + all_stacks; }

#if defined(ATTEST_CUDA_ASAN)
void Fiber::resume() {
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, static_cast<std::byte*>(stack.sp) - stack.size, stack.size);
  self = std::move(self).resume();
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
}
void Fiber::suspend() {
  leaving(false);
  scheduler = std::move(scheduler).resume();
  arrived();
}
void Fiber::arrived() { __sanitizer_finish_switch_fiber(fake_stack, &scheduler_bottom, &scheduler_size); }
void Fiber::leaving(bool for_good) {
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack, scheduler_bottom, scheduler_size);
}
#else
void Fiber::resume() { self = std::move(self).resume(); }
void Fiber::suspend() { scheduler = std::move(scheduler).resume(); }
void Fiber::arrived() {}
void Fiber::leaving(bool) {}
#endif

}  // namespace attest::cuda::emulation

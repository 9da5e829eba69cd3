// SPDX-License-Identifier: MIT
#include "attest/golden/out_of_memory.hpp"

#include <flint/flint.h>
#include <gmp.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace attest::golden {
namespace {

void* that_exists(void* memory, bool asked) {
  if (memory == nullptr && asked) end_out_of_memory();
  return memory;
}

void* allocate(std::size_t size) { return that_exists(std::malloc(size), size != 0); }
void* allocate_zeros(std::size_t count, std::size_t size) {
  return that_exists(std::calloc(count, size), count != 0 && size != 0);
}
void* reallocate(void* old, std::size_t size) { return that_exists(std::realloc(old, size), size != 0); }
void* reallocate_sized(void* old, std::size_t, std::size_t size) { return reallocate(old, size); }

std::atomic<void (*)()> before_the_end = nullptr;

}  // namespace

void when_out_of_memory(void (*function)()) { before_the_end = function; }

void end_out_of_memory() {
  constexpr std::string_view text = "attest: out of memory\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  if (const auto function = before_the_end.load()) function();
  ::_exit(2);
}

void end_when_out_of_memory() {
  ::mp_set_memory_functions(allocate, reallocate_sized, nullptr);
  ::__flint_set_memory_functions(allocate, allocate_zeros, reallocate, std::free);
}

}  // namespace attest::golden

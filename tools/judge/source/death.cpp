// SPDX-License-Identifier: MIT
#include "death.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "shared_memory.hpp"

namespace attest::judge {
namespace {

using protocol::Control;
using protocol::Phase;

std::string signal_name(int signal) {
  const char* short_name = ::sigabbrev_np(signal);
  const char* long_name = ::sigdescr_np(signal);
  if (short_name == nullptr || long_name == nullptr) return "signal " + std::to_string(signal);
  return std::string("SIG") + short_name + " (" + long_name + ")";
}

std::string hexadecimal(std::uint64_t number) {
  std::string digits;
  do digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
  while ((number /= 16) != 0);
  return "0x" + digits;
}

/// The access that a segmentation fault or bus error is due to.
std::string describe_bad_access(const Circumstances& circumstances) {
  const Control& control = circumstances.control;
  const std::uint64_t at = control.address;
  if (const auto place = describe_access(circumstances.regions, at, control.access)) return "it " + *place;
  if (const auto place = describe_access(circumstances.regions_before, at, control.access))
    return "in the call before this one, it " + *place;
  constexpr int sent_by_kernel = 0x80;  // SI_KERNEL: not a page fault, and without an address
  if (control.code == sent_by_kernel && at == 0)
    return "it used an aligned vector instruction on an address that is not aligned so far, or an address that no "
           "memory can have";
  if (at >= control.error_end && at < control.error_end + page_size())
    return "it " + verb(control.access) + " past the end of the error text's buffer";
  const std::string where = " (address " + hexadecimal(at) + ")";
  if (at < page_size()) return "it used a null pointer" + where;
  const AddressRange& all = circumstances.all_addresses;
  if (at >= all.begin && at < all.begin + all.size)
    return "it " + verb(control.access) + " far from all tensors, perhaps at one of an earlier call" + where;
  constexpr std::uint64_t near = std::uint64_t{64} * 1024;
  if (control.stack_pointer != 0 && at + near >= control.stack_pointer && at < control.stack_pointer + near)
    return "its stack is full" + where;
  return "it " + verb(control.access) + " outside of all tensors" + where;
}

/// The signal that the child's own handler has recorded.
std::string describe_signal(const Circumstances& circumstances) {
  const Control& control = circumstances.control;
  const std::string died = " died of " + signal_name(control.signal);
  if (control.code <= 0)
    return control.signal == SIGABRT ? died + ": abort() was called" : died + ", which was sent to it";
  if (control.signal != SIGSEGV && control.signal != SIGBUS) return died;
  return died + ": " + describe_bad_access(circumstances);
}

}  // namespace

std::string culprit(Phase phase) {
  switch (phase) {
    case Phase::starting: return "the worker process";
    case Phase::loading: return "the library, while it was loaded,";
    case Phase::workspace: return "the kernel's workspace()";
    case Phase::run: return "the kernel";
    case Phase::idle:
    case Phase::returned: break;
  }
  return "the kernel, after it had returned,";
}

std::string describe_death(std::optional<int> status, const Circumstances& circumstances) {
  const std::string subject = culprit(circumstances.control.phase.load());
  if (circumstances.control.recorded.load() != 0) return subject + describe_signal(circumstances);
  if (!status) return subject + " closed its connection to attest";
  if (WIFEXITED(*status))
    return subject + " ended the process with exit status " + std::to_string(WEXITSTATUS(*status));
  std::string text = subject + " died of " + signal_name(WTERMSIG(*status));
  if (WTERMSIG(*status) == SIGKILL) text += ", which attest did not send (out of memory?)";
  return text;
}

}  // namespace attest::judge

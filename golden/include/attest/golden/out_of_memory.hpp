// SPDX-License-Identifier: MIT
#pragma once

namespace attest::golden {

/// Says that there is no memory, and ends the process with status 2.
[[noreturn]] void end_out_of_memory();

/// What end_out_of_memory() calls before the end: one function, which allocates nothing.
void when_out_of_memory(void (*function)());

/// For programs, in main(): end_out_of_memory() where GMP, MPFR or FLINT get no memory. They would abort; and they are
/// C, which no exception may leave.
void end_when_out_of_memory();

}  // namespace attest::golden

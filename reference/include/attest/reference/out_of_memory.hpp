// SPDX-License-Identifier: MIT
#pragma once

namespace attest::reference {

/// For programs, in main(): where GMP, MPFR or FLINT get no memory, the process says so and ends with status 2. They
/// would abort; and they are C, which no exception may leave.
void end_when_out_of_memory();

}  // namespace attest::reference

// SPDX-License-Identifier: MIT
#pragma once

#include <iosfwd>

namespace attest::cli {

/// Reads a question as JSON and answers it. The question is a case, {"equation", "sizes", "parameters"}, with a list of
/// the "capabilities" of kernels of its equation; the answer is a list with the first condition of each that the case
/// does not meet, or null. Throws SpecError where capabilities cannot be read, nlohmann::json::exception where the
/// question cannot.
void unmet_conditions(std::istream& question, std::ostream& answer);

}  // namespace attest::cli

// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "attest/judge/verdict.hpp"

namespace attest::judge {

double Element::ratio() const {
  if (error == 0) return 0;
  const double quotient = error / bound;
  return quotient >= 0 ? quotient : std::numeric_limits<double>::infinity();
}

std::string Element::text() const {
  if (!std::isfinite(expected))
    return fmt::format("{}({}): got {}, expected {}", output, fmt::join(at, ", "), got, expected);
  return fmt::format("{}({}): got {:.9g}, expected {:.9g}, error {:.3g} is {:.3g} times the bound {:.3g}", output,
                     fmt::join(at, ", "), got, expected, error, ratio(), bound);
}

}  // namespace attest::judge

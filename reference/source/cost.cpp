// SPDX-License-Identifier: MIT
#include "attest/reference/cost.hpp"

namespace attest::reference {

Handle Cost::sum(const Number* terms, Index n) {
  if (n == 0) return 0;
  double total = at(terms[0].handle());
  for (Index i = 1; i < n; ++i) total += at(terms[i].handle());
  counts_.add += n - 1;
  return made([&](double& r) { r = total; });
}

Handle Cost::dot(const Row& a, const Row& b) {
  thread_local std::vector<double> left, right;
  const double *x = gathered(a, left), *y = gathered(b, right);
  double total = 0;
  for (Index i = 0; i < a.extent(0); ++i) total += x[i] * y[i];
  counts_.mac += a.extent(0);
  return made([&](double& r) { r = total; });
}

}  // namespace attest::reference

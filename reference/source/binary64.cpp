// SPDX-License-Identifier: MIT
#include "attest/reference/binary64.hpp"

namespace attest::reference {

Handle Binary64::sum(const Number* terms, Index n) {
  if (n == 0) return 0;
  double total = at(terms[0].handle());
  for (Index i = 1; i < n; ++i) total += at(terms[i].handle());
  return made([&](double& r) { r = total; });
}

Handle Binary64::dot(const Row& a, const Row& b) {
  const Index n = a.extent(0);
  if (n == 0) return 0;
  thread_local std::vector<double> left, right;
  const double *x = gathered(a, left), *y = gathered(b, right);
  double total = x[0] * y[0];
  for (Index i = 1; i < n; ++i) total += x[i] * y[i];
  return made([&](double& r) { r = total; });
}

/// All columns side by side: each is added in ascending order, as dot does.
void Binary64::row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) {
  const Index n = row.extent(0), columns = matrix.extent(1);
  if (n == 0) return;
  thread_local std::vector<double> left, right, totals;
  const double* x = gathered(row, left);
  totals.resize(static_cast<std::size_t>(columns));
  double* total = totals.data();
  if (matrix.plain() && matrix.stride(1) != 1) {  // columns are contiguous, or nothing is
    const Index step = matrix.stride(0);
    constexpr Index kTogether = 8;
    for (Index first = 0; first < columns; first += kTogether) {
      const Index count = std::min(kTogether, columns - first);
      const double* y[kTogether];
      double t[kTogether];
      for (Index c = 0; c < kTogether; ++c)
        y[c] = matrix.plain() + (first + std::min(c, count - 1)) * matrix.stride(1), t[c] = x[0] * y[c][0];
      for (Index i = 1; i < n; ++i)
        for (Index c = 0; c < kTogether; ++c) t[c] += x[i] * y[c][i * step];
      for (Index c = 0; c < count; ++c) total[first + c] = t[c];
    }
  } else {
    for (Index i = 0; i < n; ++i) {
      const double* y = gathered(matrix[i], right);
      if (i == 0)
        for (Index c = 0; c < columns; ++c) total[c] = x[0] * y[c];
      else
        for (Index c = 0; c < columns; ++c) total[c] += x[i] * y[c];
    }
  }
  for (Index c = 0; c < columns; ++c) out[c] = number(total[c]);
}

}  // namespace attest::reference

// SPDX-License-Identifier: MIT
#include "attest/reference/emulation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attest::reference {

double Emulation::operand(double x) {
  if (kernel_.operand_half) {
    if (std::isfinite(x) && std::abs(x) > kMostOfHalf) overflowed_ = true;
    return round_to(DType::f16, x);
  }
  if (kernel_.operand_bits == 0 || !std::isfinite(x) || x == 0) return x;
  if (std::isnormal(x)) {  // to nearest, ties to even, in the bits of the number
    const int dropped = 53 - kernel_.operand_bits;
    const std::uint64_t word = std::bit_cast<std::uint64_t>(x), unit = std::uint64_t{1} << dropped;
    return std::bit_cast<double>((word + (unit / 2 - 1) + (word / unit & 1)) & ~(unit - 1));
  }
  int exponent;
  const double mantissa = std::ldexp(std::frexp(x, &exponent), kernel_.operand_bits);
  return std::ldexp(std::nearbyint(mantissa), exponent - kernel_.operand_bits);
}

void Emulation::exponential(double& r, double a) {
  constexpr double log2_e = 0x1.71547652b82fep+0;
  r = rounded(kernel_.order == Order::exp2 ? std::exp2(rounded(a * rounded(log2_e))) : std::exp(a));
}

Handle Emulation::kept_in(DType dtype, Handle a) {
  return made([&](double& r) { r = rounded(round_to(dtype, at(a))); });
}

Handle Emulation::stage(std::string_view label, Handle a) {
  const auto held = kernel_.stages.find(label);
  return held == kernel_.stages.end() ? shared(a) : kept_in(held->second, a);
}

double Emulation::in_turn(const std::vector<double>& terms, std::size_t first, std::size_t end, std::size_t step) const {
  double total = terms[first];
  for (std::size_t i = first + step; i < end; i += step) total = rounded(total + terms[i]);
  return total;
}
double Emulation::tree(const std::vector<double>& terms, std::size_t first, std::size_t end) const {
  if (end - first == 1) return terms[first];
  const std::size_t middle = first + (end - first) / 2;
  return rounded(tree(terms, first, middle) + tree(terms, middle, end));
}
double Emulation::compensated(const std::vector<double>& terms) const {
  double total = 0, lost = 0;
  for (const double term : terms) {
    const double y = rounded(term - lost), next = rounded(total + y);
    lost = rounded(rounded(next - total) - y);
    total = next;
  }
  return std::isfinite(total) ? total : in_turn(terms, 0, terms.size(), 1);
}

double Emulation::added(std::vector<double>& terms) {
  const std::size_t n = terms.size();
  if (n == 0) return 0;
  // Partial sums, added in turn.
  const auto partial_sums = [&](std::size_t parts, auto&& part) {
    double total = part(0);
    for (std::size_t p = 1; p < parts; ++p) total = rounded(total + part(p));
    return total;
  };
  switch (kernel_.order) {
    case Order::descending: std::reverse(terms.begin(), terms.end()); return in_turn(terms, 0, n, 1);
    case Order::pairwise: return tree(terms, 0, n);
    case Order::blocked: return partial_sums((n + 7) / 8, [&](std::size_t b) { return in_turn(terms, 8 * b, std::min(n, 8 * b + 8), 1); });
    case Order::lanes: {
      const std::size_t lanes = std::min<std::size_t>(8, n);
      return partial_sums(lanes, [&](std::size_t lane) { return in_turn(terms, lane, n, lanes); });
    }
    case Order::by_magnitude:
      std::sort(terms.begin(), terms.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
      return in_turn(terms, 0, n, 1);
    case Order::shuffled: std::shuffle(terms.begin(), terms.end(), engine_); return in_turn(terms, 0, n, 1);
    case Order::kahan: return compensated(terms);
    case Order::wide: {
      long double total = 0;
      for (const double term : terms) total += term;
      return rounded(static_cast<double>(total));
    }
    default: return in_turn(terms, 0, n, 1);
  }
}

Handle Emulation::sum(const Number* terms, Index n) {
  thread_local std::vector<double> all;
  all.resize(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = at(terms[i].handle());
  const double total = added(all);
  return made([&](double& r) { r = rounded(total); });
}

Handle Emulation::dot(const Row& a, const Row& b) {
  thread_local std::vector<double> left, right, terms;
  const Index n = a.extent(0);
  const double *x = gathered(a, left), *y = gathered(b, right);
  const auto factor = [&](const Row& row, const double* of, Index i) { return operand(row.plain() ? rounded(of[i]) : of[i]); };
  double total = 0;
  if (kernel_.order == Order::fma) {
    for (Index i = 0; i < n; ++i) {
      const double p = factor(a, x, i), q = factor(b, y, i);
      total = kernel_.single ? static_cast<double>(std::fma(static_cast<float>(p), static_cast<float>(q), static_cast<float>(total)))
                             : std::fma(p, q, total);
    }
  } else {
    terms.resize(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) terms[static_cast<std::size_t>(i)] = rounded(factor(a, x, i) * factor(b, y, i));
    total = added(terms);
  }
  return made([&](double& r) { r = rounded(total); });
}

/// Where terms are added as they come, all columns side by side: each as dot does it.
void Emulation::row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) {
  const Index n = row.extent(0), columns = matrix.extent(1);
  if (n == 0 || (kernel_.order != Order::ascending && kernel_.order != Order::exp2)) return Arithmetic::row_times_matrix(row, matrix, out);
  thread_local std::vector<double> left, right, totals;
  const auto factors = [&](const Row& of, std::vector<double>& room) {
    const double* from = gathered(of, room);
    const bool as_it_is = from != room.data();
    if (as_it_is && !kernel_.single && kernel_.operand_bits == 0 && !kernel_.operand_half) return from;
    const auto count = static_cast<std::size_t>(of.extent(0));
    if (as_it_is) room.assign(from, from + count);
    if (kernel_.single && of.plain())
      for (std::size_t i = 0; i < count; ++i) room[i] = rounded(room[i]);
    if (kernel_.operand_bits != 0 || kernel_.operand_half)
      for (std::size_t i = 0; i < count; ++i) room[i] = operand(room[i]);
    return static_cast<const double*>(room.data());
  };
  const double* x = factors(row, left);
  totals.resize(static_cast<std::size_t>(columns));
  double* total = totals.data();
  if (matrix.stride(0) == 1 && matrix.stride(1) != 1) {  // each column is a row of memory
    for (Index c = 0; c < columns; ++c) {
      const double* y = factors(matrix.column(c), right);
      double sum = rounded(x[0] * y[0]);
      for (Index i = 1; i < n; ++i) sum = rounded(sum + rounded(x[i] * y[i]));
      total[c] = sum;
    }
  } else {
    for (Index i = 0; i < n; ++i) {
      const double* y = factors(matrix[i], right);
      if (i == 0)
        for (Index c = 0; c < columns; ++c) total[c] = rounded(x[0] * y[c]);
      else if (kernel_.single)
        for (Index c = 0; c < columns; ++c) total[c] = static_cast<double>(static_cast<float>(total[c] + static_cast<double>(static_cast<float>(x[i] * y[c]))));
      else
        for (Index c = 0; c < columns; ++c) total[c] += x[i] * y[c];
    }
  }
  for (Index c = 0; c < columns; ++c) out[c] = number(total[c]);
}

}  // namespace attest::reference

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
    if (kernel_.operand_cut) return std::bit_cast<double>(word & ~(unit - 1));
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

Handle Emulation::held(Held how, Handle a) {
  const double before = at(a), after = how == Held::operand || how == Held::multiplied ? operand(before)
                                       : how == Held::stored ? round_to(kernel_.storage, before)
                                                             : before;
  if (after == before || std::isnan(before)) return shared(a);
  return made([&](double& r) { r = rounded(after); });
}

Handle Emulation::stage(std::string_view label, Handle a) {
  const auto change = kernel_.stages.find(label);
  if (change == kernel_.stages.end()) return shared(a);
  return made([&](double& r) { r = rounded(change->second(at(a))); });
}

double Emulation::in_turn(const std::vector<double>& terms, std::size_t first, std::size_t end,
                          std::size_t step) const {
  if (kernel_.totals) {
    double total = rounded(kernel_.totals(terms[first]));
    for (std::size_t i = first + step; i < end; i += step) total = rounded(kernel_.totals(rounded(total + terms[i])));
    return total;
  }
  const auto add = [&](auto total) {
    for (std::size_t i = first + step; i < end; i += step) total += static_cast<decltype(total)>(terms[i]);
    return static_cast<double>(total);
  };
  return kernel_.single ? add(static_cast<float>(terms[first])) : add(terms[first]);
}
double Emulation::tree(const double* terms, std::size_t n) const {
  switch (n) {
    case 1: return terms[0];
    case 2: return rounded(terms[0] + terms[1]);
    case 3: return rounded(terms[0] + rounded(terms[1] + terms[2]));
    case 4: return rounded(rounded(terms[0] + terms[1]) + rounded(terms[2] + terms[3]));
    default: return rounded(tree(terms, n / 2) + tree(terms + n / 2, n - n / 2));
  }
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
    case Order::pairwise: return tree(terms.data(), n);
    case Order::blocked:
      return partial_sums((n + 7) / 8, [&](std::size_t b) { return in_turn(terms, 8 * b, std::min(n, 8 * b + 8), 1); });
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

const double* Emulation::factors(const Row& row, std::vector<double>& room) {
  const double* from = gathered(row, room);
  const bool operands = kernel_.operand_bits != 0 || kernel_.operand_half, inputs = kernel_.single && row.plain();
  if (!operands && !inputs) return from;
  const auto n = static_cast<std::size_t>(row.extent(0));
  if (from != room.data()) room.assign(from, from + n);
  if (inputs)
    for (std::size_t i = 0; i < n; ++i) room[i] = static_cast<double>(static_cast<float>(room[i]));
  if (operands)
    for (std::size_t i = 0; i < n; ++i) room[i] = operand(room[i]);
  return room.data();
}

Handle Emulation::dot_of(const double* start, const Row& a, const Row& b) {
  thread_local std::vector<double> left, right, terms;
  const auto n = static_cast<std::size_t>(a.extent(0));
  const double *x = factors(a, left), *y = factors(b, right);
  double total = start ? *start : 0;
  if (kernel_.order == Order::fma && !kernel_.totals) {
    for (std::size_t i = 0; i < n; ++i)
      total = kernel_.single ? static_cast<double>(std::fma(static_cast<float>(x[i]), static_cast<float>(y[i]),
                                                            static_cast<float>(total)))
                             : std::fma(x[i], y[i], total);
  } else {
    terms.resize(n);
    if (kernel_.single)
      for (std::size_t i = 0; i < n; ++i) terms[i] = static_cast<double>(static_cast<float>(x[i] * y[i]));
    else
      for (std::size_t i = 0; i < n; ++i) terms[i] = x[i] * y[i];
    if (start && *start != 0) terms.insert(terms.begin(), *start);
    total = added(terms);
  }
  return made([&](double& r) { r = rounded(total); });
}

namespace {

/// x . y_c for each of `Side` columns that are rows of memory, in the precision of T: chains of additions side by side.
template <class T, Index Side>
void dots_side_by_side(const double* x, const double* const* y, Index n, double* out) {
  T total[Side];
  for (Index c = 0; c < Side; ++c) total[c] = static_cast<T>(x[0]) * static_cast<T>(y[c][0]);
  for (Index i = 1; i < n; ++i)
    for (Index c = 0; c < Side; ++c) total[c] += static_cast<T>(x[i]) * static_cast<T>(y[c][i]);
  for (Index c = 0; c < Side; ++c) out[c] = static_cast<double>(total[c]);
}

/// x times a row of the matrix, added to the totals of all columns.
template <class T>
void add_row(double x, const double* y, Index columns, double* total) {
  for (Index c = 0; c < columns; ++c)
    total[c] = static_cast<double>(static_cast<T>(total[c]) + static_cast<T>(x) * static_cast<T>(y[c]));
}

}  // namespace

/// Where terms are added as they come, several columns side by side: each as dot does it.
void Emulation::row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) {
  const Index n = row.extent(0), columns = matrix.extent(1);
  if (n == 0 || kernel_.totals || (kernel_.order != Order::ascending && kernel_.order != Order::exp2))
    return Arithmetic::row_times_matrix(row, matrix, out);
  constexpr Index kSide = 8;
  thread_local std::vector<double> left, right, totals;
  thread_local std::array<std::vector<double>, kSide> rooms;
  const double* x = factors(row, left);
  totals.assign(static_cast<std::size_t>(columns), 0);
  double* total = totals.data();
  if (matrix.stride(0) == 1 && matrix.stride(1) != 1) {  // each column is a row of memory
    const auto some = [&]<Index Side>(std::integral_constant<Index, Side>, Index first) {
      const double* y[Side];
      for (Index c = 0; c < Side; ++c) y[c] = factors(matrix.column(first + c), rooms[static_cast<std::size_t>(c)]);
      (kernel_.single ? dots_side_by_side<float, Side> : dots_side_by_side<double, Side>)(x, y, n, total + first);
    };
    Index c = 0;
    for (; c + kSide <= columns; c += kSide) some(std::integral_constant<Index, kSide>(), c);
    for (; c < columns; ++c) some(std::integral_constant<Index, 1>(), c);
  } else {
    const auto first = factors(matrix[0], right);
    for (Index c = 0; c < columns; ++c) total[c] = rounded(x[0] * first[c]);  // not 0 + ..., which is no -0
    for (Index i = 1; i < n; ++i)
      (kernel_.single ? add_row<float> : add_row<double>)(x[i], factors(matrix[i], right), columns, total);
  }
  for (Index c = 0; c < columns; ++c) out[c] = number(total[c]);
}

}  // namespace attest::reference

// SPDX-License-Identifier: MIT
#include "attest/reference/certificate.hpp"

#include "attest/reference/vocabulary.hpp"

#if __has_include(<flint/arb_mat.h>)
#include <flint/arb_mat.h>
#else
#include <arb_mat.h>
#endif

namespace attest::reference {

void Certificate::divide(Ball& r, const Ball& a, const Ball& b) {
  if (!arb_is_zero(b.get()) && arb_contains_zero(b.get()) && arb_is_finite(b.get()))
    throw Undecided("a denominator is zero");
  arb_div(r.get(), a.get(), b.get(), bits_);
}
void Certificate::logarithm(Ball& r, const Ball& a) {
  if (arb_contains_nonpositive(a.get()) && arb_contains_positive(a.get()) && arb_is_finite(a.get()))
    throw Undecided("the argument of a logarithm is positive");
  arb_log(r.get(), a.get(), bits_);
}
void Certificate::logarithm_of_one_plus(Ball& r, const Ball& a) {
  Ball sum;
  arb_add_ui(sum.get(), a.get(), 1, bits_);
  if (arb_contains_nonpositive(sum.get()) && arb_contains_positive(sum.get()) && arb_is_finite(sum.get()))
    throw Undecided("the argument of a logarithm is positive");
  arb_log1p(r.get(), a.get(), bits_);
}
void Certificate::square_root(Ball& r, const Ball& a) {
  if (arb_contains_negative(a.get()) && arb_contains_nonnegative(a.get()) && arb_is_finite(a.get()))
    throw Undecided("the argument of a root is negative");
  arb_sqrt(r.get(), a.get(), bits_);
}

double Certificate::nearest(const Number& x) const {
  arf_t end;
  arf_init(end);
  arb_get_lbound_arf(end, value(x).get(), bits_);
  const double low = arf_get_d(end, ARF_RND_NEAR);
  arb_get_ubound_arf(end, value(x).get(), bits_);
  const double high = arf_get_d(end, ARF_RND_NEAR);
  arf_clear(end);
  if (low != high) throw Undecided("the nearest double");
  return low;
}

Handle Certificate::pi() {
  return made([&](Ball& r) { arb_const_pi(r.get(), bits_); });
}

Handle Certificate::pivot(Handle a) {
  return made([&](Ball& r) { arb_get_mid_arb(r.get(), at(a).get()); });
}

bool Certificate::positive(Handle a) {
  if (arb_is_positive(at(a).get())) return true;
  if (arb_is_nonpositive(at(a).get())) return false;
  throw Undecided("positive");
}
bool Certificate::less(Handle a, Handle b) {
  if (arb_lt(at(a).get(), at(b).get())) return true;
  if (arb_ge(at(a).get(), at(b).get())) return false;
  throw Undecided("less");
}
bool Certificate::is_zero(Handle a) const {
  if (arb_is_zero(at(a).get())) return true;
  if (!arb_contains_zero(at(a).get())) return false;
  throw Undecided("is_zero");
}

double Certificate::margin_of(Handle gap) const {
  arf_t low;
  arf_init(low);
  arb_get_lbound_arf(low, at(gap).get(), 53);
  const double margin = arf_get_d(low, ARF_RND_FLOOR);
  arf_clear(low);
  return margin;
}

Handle Certificate::sum(const Number* terms, Index n) {
  if (n == 0) return 0;
  return made([&](Ball& r) {
    arb_zero(r.get());
    for (Index i = 0; i < n; ++i) arb_add(r.get(), r.get(), at(terms[i].handle()).get(), bits_);
  });
}

/// Shallow copies one after another, which arb_dot only reads.
Certificate::Balls Certificate::gathered(const Row& row, std::vector<arb_struct>& room) const {
  const Index n = row.extent(0), step = row.stride(0);
  if (n == 0) return {nullptr, 1};
  if (static_cast<Index>(room.size()) < n) room.resize(static_cast<std::size_t>(n));
  const Number* numbers = row.numbers();
  for (Index i = 0; i < n; ++i) room[static_cast<std::size_t>(i)] = *at(numbers[i * step].handle()).get();
  return {room.data(), 1};
}

Handle Certificate::dot(const Row& a, const Row& b) {
  if (a.plain() || b.plain()) throw std::logic_error("enclosures are not computed from plain inputs");
  const Balls x = gathered(a, left_), y = gathered(b, right_);
  return made([&](Ball& r) { arb_dot(r.get(), nullptr, 0, x.first, x.step, y.first, y.step, a.extent(0), bits_); });
}

void Certificate::row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) {
  if (row.plain() || matrix.plain()) throw std::logic_error("enclosures are not computed from plain inputs");
  const Balls x = gathered(row, left_);
  for (Index c = 0; c < matrix.extent(1); ++c) {
    const Balls y = gathered(matrix.column(c), right_);
    const Handle r = take();
    arb_dot(at(r).get(), nullptr, 0, x.first, x.step, y.first, y.step, row.extent(0), bits_);
    out[c] = Number::owning(r);
  }
}

namespace {

struct BallMatrix {
  BallMatrix(Index rows, Index columns) { arb_mat_init(x, rows, columns); }
  BallMatrix(const BallMatrix&) = delete;
  BallMatrix& operator=(const BallMatrix&) = delete;
  ~BallMatrix() { arb_mat_clear(x); }
  arb_ptr operator()(Index i, Index j) { return arb_mat_entry(x, i, j); }

  arb_mat_t x;
};

}  // namespace

void Certificate::solve(const View<const Number, 2>& a, const View<const Number, 2>& b, Number* out) {
  const Index n = a.extent(0), columns = b.extent(1);
  BallMatrix left(n, n), right(n, columns), x(n, columns);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      arb_set(left(i, j), value(a(i, j)).get());
      arb_set(left(j, i), left(i, j));
    }
    for (Index c = 0; c < columns; ++c) arb_set(right(i, c), value(b(i, c)).get());
  }
  if (!arb_mat_spd_solve(x.x, left.x, right.x, bits_)) throw Undecided("a matrix is positive definite");
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < columns; ++c)
      out[i * columns + c] = Number::owning(made([&](Ball& r) { arb_swap(r.get(), x(i, c)); }));
}

}  // namespace attest::reference

// SPDX-License-Identifier: MIT
#include "attest/reference/witness.hpp"

namespace attest::reference {

Handle Witness::pi() {
  return made([&](Real& r) {
    Real x(0);  // of the precision in scope
    mpfr_const_pi(x.backend().data(), MPFR_RNDN);
    r = std::move(x);
  });
}

void Witness::error_complement(Real& r, const Real& a) {
  Real x(0);  // of the precision in scope
  mpfr_erfc(x.backend().data(), a.backend().data(), MPFR_RNDN);
  r = std::move(x);
}

Handle Witness::sum(const Number* terms, Index n) {
  if (n == 0) return 0;
  Real total = at(terms[0].handle());
  for (Index i = 1; i < n; ++i) total += at(terms[i].handle());
  return made([&](Real& r) { r = std::move(total); });
}

Handle Witness::dot(const Row& a, const Row& b) {
  if (a.extent(0) == 0) return 0;
  const auto term = [&](Index i) { return Real(value(a(i)) * value(b(i))); };
  Real total = term(0);
  for (Index i = 1; i < a.extent(0); ++i) total += term(i);
  return made([&](Real& r) { r = std::move(total); });
}

}  // namespace attest::reference

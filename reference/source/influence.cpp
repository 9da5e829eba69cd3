// SPDX-License-Identifier: MIT
#include "attest/reference/influence.hpp"

namespace attest::reference {

Number Influence::of_token(double x, std::size_t token) {
  Influenced one{x, {}};
  one.tokens.resize(token + 1);
  one.tokens.set(token);
  return number(std::move(one));
}

void Influence::join(Influenced& r, double value, const Influenced& a, const Influenced& b) {
  const bool a_is_longer = a.tokens.size() >= b.tokens.size();
  r.value = value;
  r.tokens = a_is_longer ? a.tokens : b.tokens;
  Influenced::Tokens other = a_is_longer ? b.tokens : a.tokens;
  other.resize(r.tokens.size());
  r.tokens |= other;
}

Handle Influence::sum(const Number* terms, Index n) {
  if (n == 0) return 0;
  Influenced total = at(terms[0].handle()), next;
  for (Index i = 1; i < n; ++i) add(next, total, at(terms[i].handle())), std::swap(total, next);
  return made([&](Influenced& r) { r = std::move(total); });
}

Handle Influence::dot(const Row& a, const Row& b) {
  std::vector<Number> terms;
  for (Index i = 0; i < a.extent(0); ++i) terms.push_back(Number::owning(product(a(i).handle(), b(i).handle())));
  return sum(terms.data(), a.extent(0));
}

}  // namespace attest::reference

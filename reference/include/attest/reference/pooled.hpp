// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "attest/reference/number.hpp"

namespace attest::reference {

/// An arithmetic whose numbers are values of one type, stored in blocks that never move. A derived class says how a
/// value is computed from others: `void add(Value& r, const Value& a, const Value& b)`, where r is a value of any
/// content that is none of the operands.
template <class Derived, class T>
class Pooled : public Arithmetic {
public:
  using Value = T;

  Pooled() { emplace(0); }
  ~Pooled() override {
    if constexpr (!std::is_trivially_destructible_v<Value>)
      for (Handle i = 0; i < made_; ++i) at(i).~Value();
  }

  const Value& value(const Number& x) const { return at(x.handle()); }
  /// A number with that value; the scope must be this arithmetic's.
  Number number(Value x) {
    const Handle r = take();
    at(r) = std::move(x);
    return Number::owning(r);
  }

  Handle input(double x) override {
    return made([&](Value& r) { self().from_input(r, x); });
  }
  Handle constant(double x) override {
    return made([&](Value& r) { self().from_constant(r, x); });
  }
  Handle copy(Handle a) override {
    return made([&](Value& r) { r = at(a); });
  }
  Handle negated(Handle a) override {
    return made([&](Value& r) { self().negate(r, at(a)); });
  }
  Handle sum_of(Handle a, Handle b) override {
    return made([&](Value& r) { self().add(r, at(a), at(b)); });
  }
  Handle difference(Handle a, Handle b) override {
    return made([&](Value& r) { self().subtract(r, at(a), at(b)); });
  }
  Handle product(Handle a, Handle b) override {
    return made([&](Value& r) { self().multiply(r, at(a), at(b)); });
  }
  Handle quotient(Handle a, Handle b) override {
    return made([&](Value& r) { self().divide(r, at(a), at(b)); });
  }
  Handle exp(Handle a) override {
    return made([&](Value& r) { self().exponential(r, at(a)); });
  }
  Handle log(Handle a) override {
    return made([&](Value& r) { self().logarithm(r, at(a)); });
  }
  Handle log1p(Handle a) override {
    return made([&](Value& r) { self().logarithm_of_one_plus(r, at(a)); });
  }
  Handle sqrt(Handle a) override {
    return made([&](Value& r) { self().square_root(r, at(a)); });
  }
  Handle tanh(Handle a) override {
    return made([&](Value& r) { self().hyperbolic_tangent(r, at(a)); });
  }
  Handle sin(Handle a) override {
    return made([&](Value& r) { self().sine(r, at(a)); });
  }
  Handle cos(Handle a) override {
    return made([&](Value& r) { self().cosine(r, at(a)); });
  }
  Handle erfc(Handle a) override {
    return made([&](Value& r) { self().error_complement(r, at(a)); });
  }

protected:
  const Value& at(Handle i) const {
    return reinterpret_cast<const Value*>(blocks_[i >> kBits].get())[i & (kBlock - 1)];
  }
  Value& at(Handle i) { return reinterpret_cast<Value*>(blocks_[i >> kBits].get())[i & (kBlock - 1)]; }

  template <class F>
  Handle made(F&& fill) {
    const Handle r = take();
    fill(at(r));
    return r;
  }

  void reserve(Handle end) override {
    while (made_ < end) emplace(made_);
  }

private:
  static constexpr Handle kBits = 10, kBlock = Handle{1} << kBits;
  struct Free {
    void operator()(std::byte* block) const { ::operator delete(block, std::align_val_t{alignof(Value)}); }
  };

  Derived& self() { return static_cast<Derived&>(*this); }
  void emplace(Handle i) {
    if (i >> kBits == blocks_.size())
      blocks_.emplace_back(
          static_cast<std::byte*>(::operator new(kBlock * sizeof(Value), std::align_val_t{alignof(Value)})));
    new (&at(i)) Value();
    made_ = i + 1;
  }

  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
  Handle made_ = 0;
};

}  // namespace attest::reference

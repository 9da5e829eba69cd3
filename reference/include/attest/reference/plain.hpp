// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/reference/pooled.hpp"

namespace attest::reference {

/// Common part of the arithmetics whose values are binary64 numbers: plain inputs, and branches on the value.
template <class Derived>
class Plain : public Pooled<Derived, double> {
public:
  bool takes_plain_inputs() const override { return true; }
  Handle pivot(Handle a) override { return this->copy(a); }  // under its own handle: no derivative
  double approximate(Handle a) const override { return this->at(a); }
  bool positive(Handle a) override { return this->at(a) > 0; }
  bool less(Handle a, Handle b) override { return this->at(a) < this->at(b); }
  bool is_zero(Handle a) const override { return this->at(a) == 0; }
  double margin_of(Handle gap) const override { return this->at(gap); }

protected:
  /// The elements of a row one after another: where they lie, or copied into `room`.
  const double* gathered(const Row& row, std::vector<double>& room) const {
    if (row.plain() && row.stride(0) == 1) return row.plain();
    const Index n = row.extent(0), step = row.stride(0);
    room.resize(static_cast<std::size_t>(n));
    double* to = room.data();
    if (const double* from = row.plain())
      for (Index i = 0; i < n; ++i) to[i] = from[i * step];
    else
      for (Index i = 0; i < n; ++i) to[i] = this->at(row.numbers()[i * step].handle());
    return to;
  }
};

}  // namespace attest::reference

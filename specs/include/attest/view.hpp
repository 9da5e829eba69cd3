// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace attest {

using Index = std::int64_t;

/// Non-owning array of fixed rank; row-major unless strides say otherwise. Indexing is checked unless NDEBUG.
/// A default-constructed view is absent (`!view`): that is how an optional tensor that was not given looks.
template <class T, int Rank>
class View {
public:
  using Extents = std::array<Index, Rank>;

  constexpr View() = default;

  /// Dense, row-major.
  constexpr View(T* data, Extents extents) : data_(data), extents_(extents) {
    Index stride = 1;
    for (int axis = Rank - 1; axis >= 0; --axis) {
      strides_[axis] = stride;
      stride *= extents[axis];
    }
  }

  /// Strides count elements, not bytes.
  constexpr View(T* data, Extents extents, Extents strides) : data_(data), extents_(extents), strides_(strides) {}

  constexpr operator View<const T, Rank>() const
    requires(!std::is_const_v<T>)
  {
    return {data_, extents_, strides_};
  }

  constexpr explicit operator bool() const { return data_ != nullptr; }
  constexpr T* data() const { return data_; }
  constexpr Index extent(int axis) const { return extents_[axis]; }
  constexpr Index stride(int axis) const { return strides_[axis]; }
  constexpr Extents extents() const { return extents_; }

  /// x(i, j, ...) names one element; the number of indices is checked at compile time.
  template <std::integral... I>
    requires(sizeof...(I) == Rank)
  constexpr T& operator()(I... index) const {
    const Extents at{static_cast<Index>(index)...};
    Index offset = 0;
    for (int axis = 0; axis < Rank; ++axis) {
      assert(0 <= at[axis] && at[axis] < extents_[axis]);
      offset += at[axis] * strides_[axis];
    }
    return data_[offset];
  }

  /// x[i] is the sub-view with the first axis fixed: a row, a head.
  constexpr View<T, Rank - 1> operator[](Index i) const
    requires(Rank > 1)
  {
    assert(0 <= i && i < extents_[0]);
    std::array<Index, Rank - 1> extents{}, strides{};
    for (int axis = 1; axis < Rank; ++axis) {
      extents[axis - 1] = extents_[axis];
      strides[axis - 1] = strides_[axis];
    }
    return {data_ + i * strides_[0], extents, strides};
  }

  /// Column j of a matrix.
  constexpr View<T, 1> column(Index j) const
    requires(Rank == 2)
  {
    assert(0 <= j && j < extents_[1]);
    return {data_ + j * strides_[1], {extents_[0]}, {strides_[0]}};
  }

  /// Rows first .. first + count - 1 along the first axis.
  constexpr View rows(Index first, Index count) const {
    assert(0 <= first && 0 <= count && first + count <= extents_[0]);
    Extents extents = extents_;
    extents[0] = count;
    return {data_ + first * strides_[0], extents, strides_};
  }

private:
  T* data_ = nullptr;
  Extents extents_{};
  Extents strides_{};
};

}  // namespace attest

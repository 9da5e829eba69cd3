// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace attest {

using Index = std::int64_t;

/// Throws std::out_of_range unless `inside`, in release builds too: a reference that reads outside of an array would be
/// a wrong truth. Kernels are compiled with ATTEST_UNCHECKED_VIEWS, in plugins of their own, and check by assert.
constexpr void check_index(bool inside) {
#ifdef ATTEST_UNCHECKED_VIEWS
  assert(inside);
  static_cast<void>(inside);
#else
  if (!inside) [[unlikely]]
    throw std::out_of_range("an index of a View is out of range");
#endif
}

/// Where the elements of an array of fixed rank lie, counted in elements from the first; row-major unless strides say
/// otherwise. A part of it comes with the offset of its first element. Indices are checked: check_index.
template <int Rank>
struct Layout {
  using Extents = std::array<Index, Rank>;
  template <int PartRank>
  using Part = std::pair<Layout<PartRank>, Index>;

  Extents extents{}, strides{};

  constexpr Layout() = default;
  constexpr explicit Layout(Extents dense) : extents(dense) {
    Index stride = 1;
    for (int axis = Rank - 1; axis >= 0; --axis) {
      strides[axis] = stride;
      stride *= extents[axis];
    }
  }
  constexpr Layout(Extents extents_, Extents strides_) : extents(extents_), strides(strides_) {}

  template <std::integral... I>
    requires(sizeof...(I) == Rank)
  constexpr Index offset(I... index) const {
    const Extents at{static_cast<Index>(index)...};
    Index offset = 0;
    for (int axis = 0; axis < Rank; ++axis) {
      check_index(0 <= at[axis] && at[axis] < extents[axis]);
      offset += at[axis] * strides[axis];
    }
    return offset;
  }
  constexpr Part<Rank - 1> slice(Index i) const
    requires(Rank > 0)
  {
    check_index(0 <= i && i < extents[0]);
    Layout<Rank - 1> rest;
    for (int axis = 1; axis < Rank; ++axis) {
      rest.extents[axis - 1] = extents[axis];
      rest.strides[axis - 1] = strides[axis];
    }
    return {rest, i * strides[0]};
  }
  constexpr Part<Rank> range(int axis, Index first, Index count) const {
    check_index(0 <= first && 0 <= count && first + count <= extents[axis]);
    Layout part = *this;
    part.extents[axis] = count;
    return {part, first * strides[axis]};
  }
  constexpr Part<Rank> reversed() const
    requires(Rank > 0)
  {
    Layout part = *this;
    part.strides[0] = -strides[0];
    return {part, extents[0] > 0 ? (extents[0] - 1) * strides[0] : 0};
  }
  constexpr Layout transposed() const
    requires(Rank == 2)
  {
    return {{extents[1], extents[0]}, {strides[1], strides[0]}};
  }
};

/// Non-owning array of fixed rank; row-major unless strides say otherwise. Indices are checked: check_index.
/// A default-constructed view is absent (`!view`): that is how an optional tensor that was not given looks.
template <class T, int Rank>
class View {
public:
  using Extents = std::array<Index, Rank>;

  constexpr View() = default;

  /// Dense, row-major.
  constexpr View(T* data, Extents extents) : data_(data), layout_(extents) {}

  /// Strides count elements, not bytes.
  constexpr View(T* data, Extents extents, Extents strides) : data_(data), layout_(extents, strides) {}

  /// A view of elements that may be written is one of elements that are read.
  template <class U>
    requires(!std::is_const_v<U> && std::is_same_v<const U, T>)
  constexpr View(const View<U, Rank>& other) : View(other.data(), other.extents(), other.strides()) {}

  constexpr explicit operator bool() const { return data_ != nullptr; }
  constexpr T* data() const { return data_; }
  constexpr Index extent(int axis) const { return layout_.extents[axis]; }
  constexpr Index stride(int axis) const { return layout_.strides[axis]; }
  constexpr Extents extents() const { return layout_.extents; }
  constexpr Extents strides() const { return layout_.strides; }

  /// x(i, j, ...) names one element; the number of indices is checked at compile time.
  template <std::integral... I>
    requires(sizeof...(I) == Rank)
  constexpr T& operator()(I... index) const {
    return data_[layout_.offset(index...)];
  }

  /// x[i] is the sub-view with the first axis fixed: a row, a head.
  constexpr View<T, Rank - 1> operator[](Index i) const
    requires(Rank > 0)
  {
    return part(layout_.slice(i));
  }

  /// Column j of a matrix.
  constexpr View<T, 1> column(Index j) const
    requires(Rank == 2)
  {
    return part(layout_.transposed().slice(j));
  }

  /// Rows first .. first + count - 1 along the first axis.
  constexpr View rows(Index first, Index count) const { return part(layout_.range(0, first, count)); }

  /// Columns first .. first + count - 1 of a matrix.
  constexpr View columns(Index first, Index count) const
    requires(Rank == 2)
  {
    return part(layout_.range(1, first, count));
  }

  /// The same rows, last first.
  constexpr View reversed() const
    requires(Rank > 0)
  {
    return part(layout_.reversed());
  }

private:
  template <int PartRank>
  constexpr View<T, PartRank> part(const std::pair<Layout<PartRank>, Index>& part) const {
    return {data_ ? data_ + part.second : nullptr, part.first.extents, part.first.strides};
  }

  T* data_ = nullptr;
  Layout<Rank> layout_;
};

}  // namespace attest

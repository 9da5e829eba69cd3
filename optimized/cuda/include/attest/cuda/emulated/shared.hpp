// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <concepts>
#include <type_traits>
#include <utility>

#include "attest/cuda/emulated/block.hpp"
#include "attest/cuda/swizzle.hpp"

namespace attest::cuda {

/// The type of &tile(i, j): a position in shared memory with the end of its row, so that vectors can be checked. In
/// CUDA it is T*.
template <class T>
struct SharedPointer {
  std::uint32_t offset;
  int column, columns;  // of the innermost axis
};

namespace emulation {

/// The type of tile(i, j), whose reads and writes are checked. In CUDA it is T&. All operations are on rvalues: `auto x
/// = tile(i, j)` compiles, but `x` cannot be read, so that it is not taken for the value.
template <class T>
class Element {
public:
  Element(std::uint32_t offset, int column, int columns, Location where)
      : offset_(offset), column_(column), columns_(columns), where_(where) {}
  Element(const Element&) = delete;

  operator T() && { return get(); }
  template <class U>
    requires(!std::same_as<U, T> && std::is_constructible_v<U, T>)
  explicit operator U() && {
    return U(get());
  }
  void operator=(const T& value) && { running->write(offset_, value, where_); }
  // A write may be reported.
  // NOLINTNEXTLINE(performance-noexcept-move-constructor)
  void operator=(Element&& other) && { running->write(offset_, other.get(), where_); }
  void operator+=(const T& value) && { running->write(offset_, static_cast<T>(get() + value), where_); }
  void operator-=(const T& value) && { running->write(offset_, static_cast<T>(get() - value), where_); }
  void operator*=(const T& value) && { running->write(offset_, static_cast<T>(get() * value), where_); }
  void operator/=(const T& value) && { running->write(offset_, static_cast<T>(get() / value), where_); }
  SharedPointer<T> operator&() && { return {offset_, column_, columns_}; }

private:
  T get() const { return running->read<T>(offset_, where_); }
  std::uint32_t offset_;
  int column_, columns_;
  Location where_;
};

/// Row-major; each index is checked against its own extent.
template <class T, int Rank>
__forceinline__ Element<T> element(std::uint32_t begin, const int (&at)[Rank], const int (&extents)[Rank],
                                   Location where) {
  std::uint32_t position = 0;
  for (int axis = 0; axis < Rank; ++axis) {
    if (static_cast<unsigned>(at[axis]) >= static_cast<unsigned>(extents[axis])) [[unlikely]]
      running->report_out_of_bounds(at, extents, Rank, 1, where);
    position = position * static_cast<std::uint32_t>(extents[axis]) + static_cast<std::uint32_t>(at[axis]);
  }
  return {begin + position * static_cast<std::uint32_t>(sizeof(T)), at[Rank - 1], extents[Rank - 1], where};
}

/// The spelling x(i), x(i, j), x(i, j, k) of everything that has `begin(where)` and `extent(axis)`.
template <class Self, class T, int Rank>
class Indexed {
public:
  using Value = T;
  __forceinline__ Element<T> operator()(int i, Location where = Location::current()) const
    requires(Rank == 1)
  {
    return at({i}, where);
  }
  __forceinline__ Element<T> operator()(int i, int j, Location where = Location::current()) const
    requires(Rank == 2)
  {
    return at({i, j}, where);
  }
  __forceinline__ Element<T> operator()(int i, int j, int k, Location where = Location::current()) const
    requires(Rank == 3)
  {
    return at({i, j, k}, where);
  }

private:
  __forceinline__ Element<T> at(const int (&index)[Rank], Location where) const {
    const Self& self = static_cast<const Self&>(*this);
    int extents[Rank];
    for (int axis = 0; axis < Rank; ++axis) extents[axis] = self.extent(axis);
    return element<T, Rank>(self.begin(where), index, extents, where);
  }
};

}  // namespace emulation

/// An array in shared memory with extents of run time: a part of the dynamic shared memory, or a Shared handed to a
/// function.
template <class T, int Rank>
class SharedView : public emulation::Indexed<SharedView<T, Rank>, T, Rank> {
public:
  SharedView(std::uint32_t begin, const int (&extents)[Rank]) : begin_(begin) {
    std::copy(extents, extents + Rank, extents_);
  }
  int extent(int axis) const { return extents_[axis]; }
  std::uint32_t begin(emulation::Location) const { return begin_; }

private:
  std::uint32_t begin_;
  int extents_[Rank];
};

/// `__shared__ Shared<float, 16, 17> tile;` in a kernel: an array of the block's. Unwritten at the block's start.
template <class T, int... Extents>
class Shared : public emulation::Indexed<Shared<T, Extents...>, T, static_cast<int>(sizeof...(Extents))> {
public:
  static constexpr int rank = sizeof...(Extents);
  static constexpr int extent(int axis) {
    constexpr int extents[] = {Extents...};
    return extents[axis];
  }
  std::uint32_t begin(emulation::Location where) const {
    return emulation::block(where).begin_of_static(slot_, sizeof(T) * (std::size_t{1} * ... * Extents), where);
  }
  operator SharedView<T, rank>() const { return view(); }
  SharedView<T, rank> view(emulation::Location where = emulation::Location::current()) const {
    return {begin(where), {Extents...}};
  }

private:
  mutable std::atomic<std::uint32_t> slot_{0};  // its number in the table that each block has
};

/// The shared memory whose size the launch states, handed out from its start in 16-byte steps; every thread takes the
/// same. It begins at a multiple of kSharedAlignment.
class DynamicShared {
public:
  using Location = emulation::Location;
  template <class T>
  SharedView<T, 1> take(int i, Location where = Location::current()) {
    return take<T, 1>({i}, where);
  }
  template <class T>
  SharedView<T, 2> take(int i, int j, Location where = Location::current()) {
    return take<T, 2>({i, j}, where);
  }
  template <class T>
  SharedView<T, 3> take(int i, int j, int k, Location where = Location::current()) {
    return take<T, 3>({i, j, k}, where);
  }

  /// What is taken next begins at a multiple of kSharedAlignment.
  void align() { used_ = (used_ + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment; }

private:
  template <class T, int Rank>
  SharedView<T, Rank> take(const int (&extents)[Rank], Location where) {
    std::size_t bytes = sizeof(T);
    for (const int extent : extents) bytes *= static_cast<std::size_t>(extent);
    const std::uint32_t begin = used_;
    used_ = emulation::block(where).take_dynamic(begin, bytes, where);
    return {begin, extents};
  }
  std::uint32_t used_ = 0;
};

}  // namespace attest::cuda

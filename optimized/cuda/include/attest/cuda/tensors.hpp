// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "attest/cuda/device.hpp"

/// Tensors as kernel arguments, by value: pointer and strides of sequence, head, row and column. Strides count
/// elements.

namespace attest::cuda {

using Index = std::int64_t;

__host__ __device__ constexpr Index divide_up(Index n, Index by) { return (n + by - 1) / by; }
__host__ __device__ constexpr int round_up(int n, int to) { return (n + to - 1) / to * to; }

/// What numbers from 0 to 2^31 - 1 are divided by: by a multiplication, since a GPU has no instruction that divides
/// integers (Granlund and Montgomery, Division by invariant integers using multiplication, 1994).
class IntDivider {
public:
  /// Nothing may be divided by 0.
  __host__ __device__ constexpr IntDivider(int by) : by_(by) {
    if (by <= 0) return;
    while (std::uint64_t{1} << shift_ < static_cast<std::uint64_t>(by)) ++shift_;
    const std::uint64_t power = std::uint64_t{1} << shift_, divisor = static_cast<std::uint64_t>(by);
    factor_ = static_cast<std::uint32_t>(((power - divisor) << 32) / divisor + 1);
  }
  __host__ __device__ constexpr operator int() const { return by_; }

  friend __host__ __device__ constexpr int operator/(int n, const IntDivider& by) {
    const auto number = static_cast<std::uint32_t>(n);
    const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(number) * by.factor_ >> 32);
    return static_cast<int>((high + number) >> by.shift_);
  }
  friend __host__ __device__ constexpr int operator%(int n, const IntDivider& by) { return n - n / by * by.by_; }

private:
  int by_;
  int shift_ = 0;
  std::uint32_t factor_ = 0;
};

/// The tokens of one chunk of one sequence.
struct Chunk {
  int sequence;
  Index origin;  // row of the tensors at which the sequence begins
  Index first;   // of the chunk, counted from there
  int count;
};

/// The sequences of a call, cut into chunks. Of equal length, or packed one after the other: then only the device knows
/// where each begins.
struct Sequences {
  const Index* offsets = nullptr;  // [count + 1] in packed tensors
  Index length = 0;                // of each sequence; of all together in packed tensors
  int count = 0;
  int chunk = 1;  // tokens per chunk

  /// Chunks of all sequences; in packed tensors a few of them may turn out empty.
  __host__ __device__ Index slots() const {
    return offsets ? length / chunk + count : divide_up(length, chunk) * count;
  }

  __device__ Index origin_of(int sequence) const { return offsets ? offsets[sequence] : 0; }
  __device__ Index length_of(int sequence) const {
    return offsets ? offsets[sequence + 1] - offsets[sequence] : length;
  }
  /// Packed sequences lie at least one slot apart more than their chunks need: floor(x) + 1 >= ceil(x).
  __device__ Index slot_of(int sequence) const {
    return offsets ? offsets[sequence] / chunk + sequence : divide_up(length, chunk) * sequence;
  }
  __device__ Index chunks_of(int sequence) const { return divide_up(length_of(sequence), chunk); }

  __device__ Chunk chunk_of(int sequence, Index number) const {
    const Index first = number * chunk, rest = length_of(sequence) - first;
    return {sequence, origin_of(sequence), first, static_cast<int>(rest < 0 ? 0 : rest < chunk ? rest : chunk)};
  }
  __device__ Chunk chunk_at(Index slot) const {
    int low = 0, high = count;  // the last sequence that begins at or before the slot
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (slot_of(middle) <= slot ? low : high) = middle;
    }
    return chunk_of(low, slot - slot_of(low));
  }
};

/// A block's place where every sequence has as many. They are counted along x: a grid has at most 65,535 blocks along y
/// and z, and a batch may have more sequences.
struct BlockOfSequence {
  int sequence;
  Index block;  // of the sequence
  __device__ static BlockOfSequence of(Index blocks) {
    return {static_cast<int>(blockIdx.x / blocks), static_cast<Index>(blockIdx.x % blocks)};
  }
};

/// phi of linear attention, or the activation of a layer, element by element.
enum class Map { identity, elu_plus_one, relu, exp, gelu_tanh };
constexpr std::array<std::string_view, 5> words_of(Map) {
  return {"identity", "elu_plus_one", "relu", "exp", "gelu_tanh"};
}

/// 1 / x to 1 ulp for normal numbers whose reciprocal is one, without the cases that __frcp_rn handles beside.
__device__ inline float reciprocal(float x) {
  const float y = reciprocal_flushed(x);
  const float rest = __fmaf_rn(-x, y, 1.0f);
  return rest == rest ? __fmaf_rn(rest, y, y) : y;  // of an infinite x there is no rest
}

inline constexpr float kGeluSlope = 2 * 0.7978845608028654f, kGeluCube = 0.044715f;

/// The factor of u in gelu_tanh(u): sigma(2 c (u + 0.044715 u^3)).
__device__ inline float gelu_share(float u) {
  const float z = kGeluSlope * __fmaf_rn(kGeluCube * u * u, u, u), e = expf(-fabsf(z));
  return (z < 0 ? e : 1.0f) * reciprocal(1 + e);
}

__device__ inline float mapped(Map map, float x) {
  switch (map) {
    case Map::elu_plus_one: return x > 0 ? x + 1 : expf(x);  // expm1(x) + 1 would be 0 far below 0
    case Map::relu: return x > 0 ? x : 0.0f;
    case Map::exp: return expf(x);
    case Map::gelu_tanh: return x * gelu_share(x);
    default: return x;
  }
}
/// Its derivative.
__device__ inline float slope(Map map, float x) {
  switch (map) {
    case Map::elu_plus_one: return x > 0 ? 1.0f : expf(x);
    case Map::relu: return x > 0 ? 1.0f : 0.0f;
    case Map::exp: return expf(x);
    case Map::gelu_tanh: {
      const float share = gelu_share(x), changing = share * gelu_share(-x);
      return changing == 0 ? share : __fmaf_rn(x * kGeluSlope * __fmaf_rn(3 * kGeluCube * x, x, 1), changing, share);
    }
    default: return 1.0f;
  }
}

/// Where a tensor's elements lie.
struct Place {
  Index sequence = 0, head = 0, row = 0, column = 0;  // strides
  IntDivider sharing = 1;                             // heads that share one
  IntDivider own = 1;                                 // heads of the equation itself in each of the call's
  Index own_head = 0;                                 // their stride

  __host__ __device__ Index at(int s, int h, Index r, Index c) const {
    return s * sequence + h / own / sharing * head + h % own * own_head + r * row + c * column;
  }
};

/// [tokens, width] for every sequence and head, to be read.
struct Rows {
  const void* data = nullptr;
  bool in_float = false;  // float, whatever the kernel stores
  Place place{};
  int stored = 0;     // columns in memory
  bool ones = false;  // one more column, of ones
  Map map = Map::identity;
  const std::uint8_t* visible = nullptr;  // a row whose byte is 0 is not read: it is zeros
  Place visible_place{};

  __host__ __device__ int width() const { return stored + ones; }
};

/// [tokens, width] for every sequence and head, to be written.
struct OutputRows {
  void* data = nullptr;
  bool in_float = false;
  Place place{};
  int width = 0;

  template <class T>
  __device__ __forceinline__ void store(Index at, float value) const {
    if (in_float)
      static_cast<float*>(data)[at] = value;
    else
      static_cast<T*>(data)[at] = from_float<T>(value);
  }
};

/// One number for each token of every sequence and head.
template <class V>
struct Numbers {
  V* data = nullptr;
  Place place{};

  __device__ V& at(const Chunk& chunk, int head, Index row) const {
    return data[place.at(chunk.sequence, head, chunk.origin + chunk.first + row, 0)];
  }
};

/// [rows, columns] for every sequence and head, always float. The last row or column may lie in a tensor of its own: S
/// and Z. An absent part reads as zeros and is not written.
struct State {
  enum class Border { none, row, column };

  float* matrix = nullptr;
  Place place{};
  float* last = nullptr;  // the border's numbers, along `row`
  Place last_place{};
  int rows = 0, columns = 0;  // with the border
  Border border = Border::none;

  __host__ __device__ State transposed() const {
    State t = *this;
    t.place.row = place.column;
    t.place.column = place.row;
    t.rows = columns;
    t.columns = rows;
    t.border = border == Border::row ? Border::column : border == Border::column ? Border::row : Border::none;
    return t;
  }
};

/// The state of one sequence and head.
class StatePanel {
public:
  __device__ StatePanel(const State& state, int sequence, int head)
      : state_(state),
        matrix_(state.matrix ? state.matrix + state.place.at(sequence, head, 0, 0) : nullptr),
        last_(state.last ? state.last + state.last_place.at(sequence, head, 0, 0) : nullptr) {}

  /// Null where it is not there.
  __device__ float* at(int row, int column) const {
    if (state_.border == State::Border::row && row == state_.rows - 1) return last(column);
    if (state_.border == State::Border::column && column == state_.columns - 1) return last(row);
    return matrix_ ? matrix_ + row * state_.place.row + column * state_.place.column : nullptr;
  }
  /// 0 where it is not there.
  __device__ float operator()(int row, int column) const {
    const float* from = at(row, column);
    return from ? *from : 0.0f;
  }
  __device__ int rows() const { return state_.rows; }
  __device__ int columns() const { return state_.columns; }

private:
  __device__ float* last(int x) const { return last_ ? last_ + x * state_.last_place.row : nullptr; }

  const State& state_;
  float* matrix_;
  float* last_;
};

/// The rows of one sequence and head.
template <class T>
class Panel {
public:
  __device__ Panel(const Rows& rows, const Chunk& chunk, int head)
      : rows_(rows),
        ones_(rows.ones),
        begin_(rows.place.at(chunk.sequence, head, chunk.origin + chunk.first, 0)),
        visible_(rows.visible
                     ? rows.visible + rows.visible_place.at(chunk.sequence, head, chunk.origin + chunk.first, 0)
                     : nullptr) {}

  __device__ int width() const { return rows_.stored + ones_; }
  __device__ bool ones() const { return ones_; }
  __device__ Panel without_ones() const {
    Panel panel = *this;
    panel.ones_ = false;
    return panel;
  }
  /// The same, with rows counted from this one.
  __device__ Panel from(Index row) const {
    Panel panel = *this;
    panel.begin_ += row * rows_.place.row;
    if (visible_) panel.visible_ += row * rows_.visible_place.row;
    return panel;
  }
  /// Whether elements are numbers of 16 bits, which every product takes as they are.
  __device__ bool is_narrow() const { return sizeof(T) == 2 && !rows_.in_float && rows_.map == Map::identity; }
  __device__ bool hidden(Index row) const { return visible_ && !visible_[row * rows_.visible_place.row]; }

  /// Element of a row of the chunk, before the map.
  __device__ float raw(Index row, int column) const {
    const Index at = begin_ + row * rows_.place.row + column * rows_.place.column;
    return rows_.in_float ? static_cast<const float*>(rows_.data)[at] : to_float(static_cast<const T*>(rows_.data)[at]);
  }
  __device__ float operator()(Index row, int column) const {
    if (hidden(row) || column >= width()) return 0;
    return column < rows_.stored ? mapped(rows_.map, raw(row, column)) : 1.0f;
  }

  /// Where a row's elements from `column` on begin, if any `Count` of them, in it and in every row after it, may be
  /// copied as they are: null where they are changed on the way, or not aligned.
  template <int Count>
  __device__ const T* runs(Index row, int column) const {
    if (visible_ || rows_.place.row % Count != 0) return nullptr;
    if ((rows_.in_float && sizeof(T) != sizeof(float)) || rows_.map != Map::identity || rows_.place.column != 1)
      return nullptr;
    const T* at = static_cast<const T*>(rows_.data) + begin_ + row * rows_.place.row + column;
    return reinterpret_cast<std::uintptr_t>(at) % (Count * sizeof(T)) == 0 ? at : nullptr;
  }
  __device__ Index pitch() const { return rows_.place.row; }
  __device__ int stored() const { return rows_.stored; }

  /// Where `Count` elements may be copied as they are: null where they are changed on the way, or not aligned.
  template <int Count>
  __device__ const T* run(Index row, int column) const {
    if (rows_.in_float && sizeof(T) != sizeof(float)) return nullptr;
    if (rows_.map != Map::identity || rows_.place.column != 1 || column + Count > rows_.stored || hidden(row))
      return nullptr;
    const T* at = static_cast<const T*>(rows_.data) + begin_ + row * rows_.place.row + column;
    return reinterpret_cast<std::uintptr_t>(at) % (Count * sizeof(T)) == 0 ? at : nullptr;
  }

private:
  const Rows& rows_;
  bool ones_;
  Index begin_;
  const std::uint8_t* visible_;
};

}  // namespace attest::cuda

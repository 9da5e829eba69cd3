// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/call.hpp"
#include "attest/cuda/tiles.hpp"

/// Which keys each query sees, as bits that a kernel writes before attention reads them: a mask of the call, or the
/// pattern of an equation. Of a tile of 64 queries and 64 keys that has no bit nothing is loaded and no product taken.

namespace attest::cuda {

struct Seen {
  std::uint32_t* words = nullptr;  // [sequences, heads, queries, 2 key_tiles]: bit x of word w is that of key 32 w + x
  std::uint8_t* tiles = nullptr;   // [sequences, heads, query_tiles, key_tiles]: 0 where no query sees a key
  Place place{};                   // of the matrix of a sequence and head, counted in matrices
  int queries = 0, key_tiles = 0;

  __host__ __device__ int query_tiles() const { return (queries + kTile - 1) / kTile; }
  __host__ __device__ int row() const { return 2 * key_tiles; }
  __device__ Index matrix(int sequence, int head) const { return place.at(sequence, head, 0, 0); }
  __device__ std::uint32_t* words_of(int sequence, int head) const {
    return words + matrix(sequence, head) * queries * row();
  }
  __device__ std::uint8_t* tiles_of(int sequence, int head) const {
    return tiles + matrix(sequence, head) * query_tiles() * key_tiles;
  }
  /// Whether it is this sequence and head that writes the matrix which it has together with others.
  __device__ bool writes(int sequence, int head) const {
    const int group = head / place.own;
    return (place.sequence != 0 || sequence == 0) && (place.own_head != 0 || head % place.own == 0) &&
           (place.head != 0 ? group % place.sharing == 0 : group == 0);
  }
};

/// Bit x: whether query i sees key first + x, of 32 keys.
template <class Sees>
__device__ std::uint32_t word_of(const Sees& sees, int i, int first, int keys) {
  if constexpr (requires { sees.word(i, first); }) {
    return sees.word(i, first);
  } else {
    std::uint32_t word = 0;
    for (int x = 0; x < 32 && first + x < keys; ++x)
      if (sees(i, first + x)) word |= 1u << x;
    return word;
  }
}

/// sees.of(sequence, head) is a function (i, j): whether query i sees key j; or has word(i, first).
template <class Sees>
__global__ __launch_bounds__(kThreads) void write_seen(Sequences queries, int keys, Sees sees, Seen seen) {
  static_assert(kThreads == 2 * kTile);
  const Chunk chunk = queries.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  if (!seen.writes(chunk.sequence, head)) return;
  const auto is_seen = sees.of(chunk.sequence, head);
  const int row = static_cast<int>(threadIdx.x) / 2, half = static_cast<int>(threadIdx.x) % 2,
            i = static_cast<int>(chunk.first) + row;
  std::uint32_t* words = seen.words_of(chunk.sequence, head) + static_cast<Index>(i) * seen.row();
  std::uint8_t* tiles =
      seen.tiles_of(chunk.sequence, head) + static_cast<int>(chunk.first) / kTile * static_cast<Index>(seen.key_tiles);
  for (int tile = 0; tile < seen.key_tiles; ++tile) {
    std::uint32_t word = 0;
    if (row < chunk.count) words[2 * tile + half] = word = word_of(is_seen, i, kTile * tile + 32 * half, keys);
    const bool any = __syncthreads_or(word != 0) != 0;
    if (threadIdx.x == 0) tiles[tile] = any;
  }
}

/// The bits of `sees`, one matrix for each sequence and head of `place`: where its strides of sequences, heads or own
/// heads are 0 they have one together. Sequences have equal lengths.
template <class Sees>
Seen seen_by(Call& call, const Sequences& queries, const Sequences& keys, const Sees& sees, Place place = {}) {
  const int heads = call.heads() / place.own / place.sharing, own = place.own_head ? static_cast<int>(place.own) : 1;
  Seen seen{.queries = static_cast<int>(queries.length), .key_tiles = static_cast<int>(divide_up(keys.length, kTile))};
  const Index of_a_sequence = Index{place.head ? heads : 1} * own,
              matrices = place.sequence ? of_a_sequence * queries.count : of_a_sequence;
  place.own_head = place.own_head ? 1 : 0;
  place.head = place.head ? own : 0;
  place.sequence = place.sequence ? of_a_sequence : 0;
  seen.place = place;
  seen.words = call.workspace<std::uint32_t>(matrices * seen.queries * seen.row());
  seen.tiles = call.workspace<std::uint8_t>(matrices * seen.query_tiles() * seen.key_tiles);
  call.launch(write_seen<Sees>, {queries.slots(), 1, call.heads()}, kThreads, 0, queries, static_cast<int>(keys.length),
              sees, seen);
  return seen;
}

/// A mask [n, s] of bytes: 0 hides.
struct SeenByMask {
  const std::uint8_t* bytes;
  Place place;

  struct Matrix {
    const std::uint8_t* bytes;
    Index row, column;
    __device__ bool operator()(int i, int j) const { return bytes[i * row + j * column] != 0; }
  };
  __device__ Matrix of(int sequence, int head) const {
    return {bytes + place.at(sequence, head, 0, 0), place.row, place.column};
  }
};

/// Nothing where there is no mask.
inline Seen seen_by_mask(Call& call, const Sequences& queries, const Sequences& keys, const Rows& mask) {
  if (!mask.data) return {};
  return seen_by(call, queries, keys, SeenByMask{static_cast<const std::uint8_t*>(mask.data), mask.place}, mask.place);
}

}  // namespace attest::cuda

// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/openmp/tasks.hpp"
#include "openmp/engine/attend_leaves.hpp"
#include "openmp/engine/memory.hpp"

/// The threads of the attend engine: tiles of queries, shards of keys where one tile holds all queries. What is split,
/// and in which order parts are added up, depends on sizes alone.
namespace attest::openmp::engine {

/// Keys of a tile: as many whole blocks as fit, fewer for short sequences so that these have several tiles too.
inline Index tile_of(Index block, Index s) {
  constexpr Index kKeys = 128, kTiles = 8;
  return block * std::max<Index>(1, std::min(kKeys / block, s / (kTiles * block)));
}

/// Keys of a shard: whole blocks, not more than 16 shards.
inline Index shard_of(Index block, Index s) {
  constexpr Index kShards = 16;
  return block * std::max<Index>(1, (s + kShards * block - 1) / (kShards * block));
}

/// Below this many multiplications threads cost more than they save.
constexpr Index kEnough = 1 << 16;

template <class T>
void run_split(const Leaves<T>& leaves, const Problem<T>& in, const Forward<T>& out, Index tile) {
  const Index n = in.q.extent(0), s = in.k.extent(0), m = in.v.extent(1), length = shard_of(out.block, s);
  const Index shards = std::max<Index>(1, (s + length - 1) / length), tiles = (n + leaves.queries - 1) / leaves.queries;
  const Index size = leaves.scratch_size(in, Schedule::split, tile);
  const bool enough = n * s * (in.q.extent(1) + m) > kEnough;
  const Index part = Partial<T>::size(leaves.queries, m);
  const auto one_tile = [&](Index t, T* parts, bool parallel) {
    const Index first = t * leaves.queries, count = std::min(leaves.queries, n - first);
    const Index stride = (count + leaves.lanes - 1) / leaves.lanes * leaves.lanes;
    const auto partial = [&](Index i) { return Partial<T>{parts + i * part, stride, m}; };
    each_task(shards, parallel, [&](Index i) {
      leaves.shard(in, out, first, count, std::min(tile, length), i * length, std::min(s, (i + 1) * length),
                   scratch<T>(size), partial(i));
    });
    for (Index reach = 1; reach < shards; reach *= 2)
      for (Index i = 0; i + reach < shards; i += 2 * reach) leaves.merge(partial(i), partial(i + reach));
    leaves.finish(in, out, first, count, partial(0));
  };
  const bool over_tiles = tiles > 1;
  each_task(tiles, enough, [&](Index t) {
    Memory<T> parts;
    one_tile(t, parts.of(shards * part), !over_tiles && enough);
  });
}

template <class T>
void run_forward(const Leaves<T>& leaves, const Problem<T>& in, const Forward<T>& out) {
  const Index n = in.q.extent(0), s = in.k.extent(0), tile = tile_of(out.block, s);
  if (out.schedule == Schedule::split) return run_split(leaves, in, out, tile);
  const Index tiles = (n + leaves.queries - 1) / leaves.queries, size = leaves.scratch_size(in, out.schedule, tile);
  each_task(tiles, n * s * (in.q.extent(1) + in.v.extent(1)) > kEnough, [&](Index t) {
    const Index first = (tiles - 1 - t) * leaves.queries;  // causal: the longest rows begin
    leaves.forward(in, out, first, std::min(leaves.queries, n - first), tile, scratch<T>(size));
  });
}

/// Chunks of queries add up grad_k and grad_v on their own; then chunks are added in order.
template <class T>
void run_backward(const Leaves<T>& leaves, const Problem<T>& in, const Backward<T>& out) {
  constexpr Index kChunks = 4, kTilesOfChunk = 8;
  const Index n = in.q.extent(0), s = in.k.extent(0), d = in.q.extent(1), m = in.v.extent(1);
  const Index tile = tile_of(out.block, s), tiles = (n + leaves.queries - 1) / leaves.queries;
  const Index chunks = std::clamp<Index>(tiles / kTilesOfChunk, 1, kChunks);
  const auto padded = [&](Index width) { return (width + leaves.lanes - 1) / leaves.lanes * leaves.lanes; };
  const Index k_size = s * padded(d), chunk_size = k_size + s * padded(m);
  const Index size = leaves.backward_scratch_size(in, out.gradient, tile);
  const bool enough = n * s * (d + m) > kEnough;
  Memory<T> memory;
  T* sums = memory.of(chunks * chunk_size);
  each_task(chunks, enough, [&](Index chunk) {
    T *grad_k = sums + chunk * chunk_size, *grad_v = grad_k + k_size;
    std::fill_n(grad_k, chunk_size, T(0));
    for (Index t = chunk * tiles / chunks; t < (chunk + 1) * tiles / chunks; ++t) {
      const Index first = t * leaves.queries;
      leaves.backward(in, out, first, std::min(leaves.queries, n - first), tile, scratch<T>(size), grad_k, grad_v);
    }
  });
  const auto write = [&](View<T, 2> grad, Index row, T* first_chunk) {
    T* sum = first_chunk + row * padded(grad.extent(1));
    for (Index c = 0; c < grad.extent(1); ++c) {
      T total = sum[c];
      for (Index chunk = 1; chunk < chunks; ++chunk) total += sum[chunk * chunk_size + c];
      grad(row, c) = total;
    }
  };
  for (Index j = 0; j < s; ++j) {
    write(out.grad_k, j, sums);
    write(out.grad_v, j, sums + k_size);
  }
}

}  // namespace attest::openmp::engine

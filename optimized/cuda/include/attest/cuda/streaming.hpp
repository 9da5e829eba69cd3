// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

#include "attest/cuda/pattern.hpp"

/// Attention of a stream to its first tokens and its last ones, whose keys and values a cache brings from call to call.

namespace attest::cuda::streaming {

/// The rows of the recent tokens: token p in row p modulo their number, or in the order of the tokens.
enum class CacheOrder { ring, oldest_first };
constexpr std::array<std::string_view, 2> words_of(CacheOrder) { return {"ring", "oldest_first"}; }

/// The rows of a cache: the first `sinks` tokens at their positions, behind them the last `recent` ones.
struct Cache {
  int sinks = 0;
  IntDivider recent = 1;
  CacheOrder order = CacheOrder::ring;

  __host__ __device__ int rows() const { return sinks + recent; }
  __host__ __device__ int filled(int seen) const { return seen < rows() ? seen : rows(); }
  /// The position of the t-th token that is kept after `seen` tokens.
  __host__ __device__ int position(int t, int seen) const { return t < sinks ? t : t + seen - filled(seen); }
  /// The row of a position that is kept.
  __host__ __device__ int row(int p, int seen) const {
    if (p < sinks) return p;
    return order == CacheOrder::oldest_first ? p - (seen - filled(seen)) : sinks + (p - sinks) % recent;
  }
};

/// What the cache holds in the order of the tokens, and behind it the tokens of the call.
struct Stream : PositionPattern<Stream> {
  Cache cache{};
  int seen = 0;  // tokens before the call

  __host__ __device__ int before() const { return cache.filled(seen); }
  __device__ int position(int row) const { return row < before() ? cache.position(row, seen) : seen + row - before(); }
  /// Whether a query of the call sees a row.
  __device__ bool operator()(int i, int row) const {
    const int t = seen + i, p = position(row);
    return p <= t && (p < cache.sinks || t - p < cache.recent);
  }
};

/// Row r of the stream is a row of the cache, or one of the call.
template <class T>
__global__ __launch_bounds__(kThreads) void join(Sequences tokens, Stream stream, Rows cached, Rows called,
                                                 OutputRows joined) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  if (head % joined.place.sharing != 0) return;
  const Chunk whole{chunk.sequence, 0, 0, 0};
  const Panel<T> old(cached, whole, head), own(called, whole, head);
  for (int at = static_cast<int>(threadIdx.x); at < chunk.count * joined.width; at += kThreads) {
    const int r = static_cast<int>(chunk.first) + at / joined.width, x = at % joined.width;
    const float value = r < stream.before()
                            ? old.raw(stream.cache.row(stream.cache.position(r, stream.seen), stream.seen), x)
                            : own.raw(r - stream.before(), x);
    joined.store<T>(joined.place.at(chunk.sequence, head, r, x), value);
  }
}

/// The cache after the call: a row that holds no token stays as it is.
template <class T>
__global__ __launch_bounds__(kThreads) void store(Sequences rows, Stream stream, int count, Rows cached, Rows called,
                                                  OutputRows after) {
  const Chunk chunk = rows.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), seen = stream.seen + count, filled = stream.cache.filled(seen);
  if (head % after.place.sharing != 0) return;
  const Chunk whole{chunk.sequence, 0, 0, 0};
  const Panel<T> old(cached, whole, head), own(called, whole, head);
  for (int at = static_cast<int>(threadIdx.x); at < chunk.count * after.width; at += kThreads) {
    const int t = static_cast<int>(chunk.first) + at / after.width, x = at % after.width;  // the t-th that is kept
    const int p = stream.cache.position(t, seen), row = t < filled ? stream.cache.row(p, seen) : t;
    const float value = t >= filled       ? old.raw(t, x)
                        : p < stream.seen ? old.raw(stream.cache.row(p, stream.seen), x)
                                          : own.raw(p - stream.seen, x);
    after.store<T>(after.place.at(chunk.sequence, head, row, x), value);
  }
}

/// Attention of the equations whose cache has `sinks` rows for the first tokens.
class Streaming {
public:
  Streaming(Call& call, int sinks) : call_(call), rows_(static_cast<int>(call.input("cache_k")->shape[2])) {
    stream_.cache = {.sinks = sinks, .recent = rows_ - sinks, .order = call.choice<CacheOrder>("cache_order")};
    stream_.seen = static_cast<int>(call.integer("seen"));
  }

  template <class T, class Factor>
  void run() {
    Logits logits = unmasked_products_of(call_);
    logits.keys.length = stream_.before() + logits.queries.length;
    logits.k = joined<T>("cache_k", "k", logits.keys);
    const Rows v = joined<T>("cache_v", "v", logits.keys);
    logits.seen = seen_by(call_, logits.queries, logits.keys, stream_);
    attend_online<T, Factor>(call_, logits, v, call_.output_rows("o"));
    store_cache<T>("cache_k", "k");
    store_cache<T>("cache_v", "v");
  }

private:
  template <class T>
  Rows joined(const char* cache, const char* name, const Sequences& keys) {
    const Rows called = call_.rows(name);
    if (stream_.before() == 0) return called;
    const OutputRows rows = call_.workspace_rows(keys, called.stored, called.place.sharing);
    call_.launch(join<T>, {keys.slots(), 1, call_.heads()}, kThreads, 0, keys, stream_, call_.rows(cache), called,
                 rows);
    return read_back(rows);
  }
  template <class T>
  void store_cache(const char* cache, const char* name) {
    if (!call_.output(cache)) return;
    const Sequences tokens = call_.sequences("n", "q", kTile);
    Sequences rows = tokens;
    rows.length = rows_;
    call_.launch(store<T>, {rows.slots(), 1, call_.heads()}, kThreads, 0, rows, stream_,
                 static_cast<int>(tokens.length), call_.rows(cache), call_.rows(name), call_.output_rows(cache));
  }

  Call& call_;
  int rows_;
  Stream stream_;
};

}  // namespace attest::cuda::streaming

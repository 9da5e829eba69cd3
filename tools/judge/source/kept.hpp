// SPDX-License-Identifier: MIT
// Values that a cache keeps. Private to the judge.
#pragma once

#include "attest/judge/cache.hpp"
#include "bytes.hpp"

namespace attest::judge {

/// The value that the cache keeps under the key, or that `make` gives; null: none is kept. A key may be a hash of much:
/// without a cache it is not asked for.
template <class Key, class Make>
auto kept(Cache* cache, const Key& key, const Make& make) {
  if (!cache || !cache->is_on()) return make();
  return value_of<decltype(make())>(cache->find_or_make(key(), [&] { return bytes_of(make()); }));
}

}  // namespace attest::judge

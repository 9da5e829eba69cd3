// SPDX-License-Identifier: MIT
// Statements about the equations of content-based attention that a single call does not show.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "attest/reference/content/chunked_feed_forward.hpp"

namespace attest {
namespace {

/// A chunk has ceil(n / c) tokens at most, each with f hidden units, and every token is in one chunk.
TEST(Content, ChunksHoldTheirShareOfHiddenUnits) {
  namespace ff = reference::content::chunked_feed_forward;
  for (Index n = 1; n <= 12; ++n) {
    const std::vector<reference::Number> tokens(static_cast<std::size_t>(n));
    ff::In in;
    in.x_2 = {tokens.data(), {n, 1}};
    for (in.chunks = 1; in.chunks <= 15; ++in.chunks) {
      Index most = 0;
      for (Index a = 0; a < in.chunks; ++a) most = std::max(most, ff::start(in, a + 1) - ff::start(in, a));
      EXPECT_EQ(most, (n + in.chunks - 1) / in.chunks) << n << " tokens, " << in.chunks << " chunks";
      EXPECT_EQ(ff::start(in, 0), 0);
      EXPECT_EQ(ff::start(in, in.chunks), n);
    }
  }
}

}  // namespace
}  // namespace attest

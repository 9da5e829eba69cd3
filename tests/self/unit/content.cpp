// SPDX-License-Identifier: MIT
// Statements about the equations of content-based attention that a single call does not show.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"
#include "attest/judge/stages.hpp"
#include "attest/judge/verdict.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/content/chunked_feed_forward.hpp"
#include "attest/reference/cost.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/reference/tape.hpp"

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

/// In binary32, with products far below the bias: each addition to it rounds at its size, and a kernel that begins with
/// the bias (a product of matrices with beta = 1) is as right as one that adds it in the end.
TEST(Content, AKernelMayAddProductsToTheBias) {
  const auto& f32 = golden::profile("f32");
  for (int seed = 1; seed <= 20; ++seed) {
    const auto c = judge::judged_by(
        golden::certify_case(golden::parse_query(fmt::format("attest:content.chunked_feed_forward:f32;n=3;d=5;f=400;"
                                                             "activation=identity;chunks=1;flag=random;with=b_1+b_2;"
                                                             "seed={};magnitude.w_2=0.000244140625",
                                                             seed))
                                 .first,
                             {.check_witnesses = false, .gradients = false}),
        f32);
    const auto& [inputs, sizes] = std::tie(c.problem.inputs, c.problem.sizes);
    const auto at = [&](const char* name, Index row, Index column) {
      const Array& x = inputs.at(name);
      return static_cast<float>(
          x.values[static_cast<std::size_t>(row * (x.shape.size() > 1 ? x.shape[1] : 0) + column)]);
    };
    Arrays got;
    Array& y = got["y_2"];
    y.shape = {sizes.at("n"), sizes.at("d")};
    for (Index i = 0; i < sizes.at("n"); ++i)
      for (Index a = 0; a < sizes.at("d"); ++a) {
        float sum = at("b_2", 0, a);
        for (Index t = 0; t < sizes.at("f"); ++t) {
          float hidden = at("b_1", 0, t);
          for (Index e = 0; e < sizes.at("d"); ++e) hidden += at("y_1", i, e) * at("w_1", e, t);
          sum += hidden * at("w_2", t, a);
        }
        y.values.push_back(at("x_2", i, a) + sum);
      }
    EXPECT_EQ(judge::compare(c.problem, c.certified, got, f32).failed, 0) << seed;
  }
}

// --- reversible blocks
// --------------------------------------------------------------------------------------------------------------------

using reference::Bundle;
using reference::Number;
using reference::Tape;
using Numbers = std::vector<Number>;
using Lift = Bundle::Lift;

/// A call with so many blocks.
Problem reversible(Index blocks, const char* direction, const std::string& draws = "") {
  Problem problem =
      golden::draw(golden::parse_query("attest:content.reversible_residual:f64;l=" + std::to_string(blocks) +
                                       ";n=2;d=2;f=3;flag=random;seed=1" + draws)
                       .first);
  problem.parameters["direction"] = std::string(direction);
  return problem;
}

/// Block b alone.
Problem block_of(const Problem& stack, Index b, const char* direction) {
  Problem problem = stack;
  const auto blocks = static_cast<std::ptrdiff_t>(stack.sizes.at("l"));
  problem.sizes["l"] = 1;
  problem.parameters["direction"] = std::string(direction);
  for (const char* name : {"w_q", "w_k", "w_v", "w_1", "w_2"}) {
    Array& w = problem.inputs.at(name);
    const auto width = static_cast<std::ptrdiff_t>(w.values.size()) / blocks;
    w = {w.shape, {w.values.begin() + b * width, w.values.begin() + (b + 1) * width}};
    w.shape[0] = 1;
  }
  return problem;
}

/// Both streams, first and second one after the other.
Numbers results(const Bundle& bundle) {
  Numbers all;
  for (const char* name : {"t_1", "t_2"}) bundle.each_element(name, [&](const Number& x) { all.push_back(x); });
  return all;
}

/// Streams that are these numbers; what else there is as it is.
Lift lifting(const Numbers& streams, const Lift& make) {
  return [&streams, make](const TensorDeclaration& declared, Index flat, double value) {
    const auto at = static_cast<std::size_t>(flat);
    if (declared.name == "s_1") return streams[at];
    if (declared.name == "s_2") return streams[streams.size() / 2 + at];
    return make(declared, flat, value);
  };
}

Number as_it_is(const TensorDeclaration&, Index, double value) { return Number::input(value); }

Numbers run(const Problem& problem, const Numbers& streams) {
  Bundle bundle(problem, lifting(streams, as_it_is));
  evaluate("forward", bundle);
  return results(bundle);
}

Numbers streams_of(const Problem& problem) {
  Numbers all;
  for (const char* name : {"s_1", "s_2"})
    for (const double x : problem.inputs.at(name).values) all.push_back(Number::input(x));
  return all;
}

double distance(const Numbers& a, const Numbers& b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(approximate(a[i] - b[i])));
  return most;
}

TEST(Content, TheInverseIsExact) {
  reference::Certificate arithmetic(512);
  const reference::Scope scope(arithmetic);
  for (const auto& [there, back] : {std::pair{"forward", "inverse"}, {"inverse", "forward"}}) {
    const Problem problem = reversible(3, there);
    const Numbers x = streams_of(problem), y = run(problem, x);
    EXPECT_GT(distance(x, y), 0.1);
    EXPECT_LT(distance(x, run(reversible(3, back), y)), 1e-100) << there;
  }
}

/// 100 blocks in binary32 and their inverse, the streams held in binary32 in between.
TEST(Content, TheDriftOfTheInverseIsSmall) {
  const std::string draws = ";draw.w_v=normal 0.125;draw.w_1=normal 0.125;draw.w_2=normal 0.125";
  const Problem there = reversible(100, "forward", draws);
  Problem back = reversible(100, "inverse", draws);
  const auto& f32 = golden::profile("f32");
  const Arrays y = judge::outputs_with(there, "forward", f32, {});
  back.inputs.at("s_1").values = y.at("t_1").values;
  back.inputs.at("s_2").values = y.at("t_2").values;
  const Arrays x = judge::outputs_with(back, "forward", f32, {});
  double drift = 0;
  for (const auto& [from, to] : {std::pair{"s_1", "t_1"}, {"s_2", "t_2"}})
    for (std::size_t i = 0; i < x.at(to).values.size(); ++i)
      drift = std::max(drift, std::abs(x.at(to).values[i] - there.inputs.at(from).values[i]));
  EXPECT_GT(drift, 0);  // it is no exact inverse
  EXPECT_LT(drift, 0x1p-12);
}

using Gradients = std::map<std::string, Numbers>;

/// Adjoints of the streams ("s") and of the weights, for the adjoints `seeds` of the results.
Gradients gradients(const Problem& problem, const Numbers& streams, const Numbers& seeds) {
  Tape tape;
  const auto variable = [&](const TensorDeclaration&, Index, double value) {
    return tape.variable(Number::input(value));
  };
  Numbers variables;
  for (const Number& x : streams) variables.push_back(tape.variable(x));
  Bundle bundle(problem, lifting(variables, variable));
  evaluate("forward", bundle);
  const Numbers all = results(bundle);
  for (std::size_t i = 0; i < all.size(); ++i) tape.seed(all[i], seeds[i]);
  tape.differentiate();
  Gradients of;
  const auto adjoints = [&](const Numbers& x) {
    Numbers some;
    for (const Number& v : x) some.push_back(tape.adjoint(v));
    return some;
  };
  of["s"] = adjoints(variables);
  for (const char* name : {"w_q", "w_k", "w_v", "w_1", "w_2"}) of[name] = adjoints(bundle.lifted(name));
  return of;
}

/// Backwards through the blocks with nothing kept but the last pair of streams.
TEST(Content, GradientsByInversion) {
  reference::Certificate arithmetic(512);
  const reference::Scope scope(arithmetic);
  const Index blocks = 3;
  const Problem problem = reversible(blocks, "forward");
  const Numbers x = streams_of(problem);
  Numbers streams = run(problem, x), seeds;
  for (std::size_t i = 0; i < streams.size(); ++i) seeds.push_back(Number(static_cast<Index>(i) - 3));
  const Gradients kept = gradients(problem, x, seeds);
  for (Index b = blocks; b-- > 0;) {
    streams = run(block_of(problem, b, "inverse"), streams);
    const Gradients of = gradients(block_of(problem, b, "forward"), streams, seeds);
    seeds = of.at("s");
    for (const char* name : {"w_q", "w_k", "w_v", "w_1", "w_2"}) {
      const Numbers& own = of.at(name);
      const auto first = kept.at(name).begin() + b * static_cast<std::ptrdiff_t>(own.size());
      EXPECT_LT(distance(own, Numbers(first, first + static_cast<std::ptrdiff_t>(own.size()))), 1e-100) << name;
    }
  }
  EXPECT_LT(distance(streams, x), 1e-100);
  EXPECT_LT(distance(seeds, kept.at("s")), 1e-100);
}

double determinant(std::vector<std::vector<double>> a) {
  double det = 1;
  for (std::size_t c = 0; c < a.size(); ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < a.size(); ++r)
      if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
    if (pivot != c) std::swap(a[pivot], a[c]), det = -det;
    det *= a[c][c];
    for (std::size_t r = c + 1; r < a.size(); ++r)
      for (std::size_t e = a.size(); e-- > c;) a[r][e] -= a[r][c] / a[c][c] * a[c][e];
  }
  return det;
}

TEST(Content, ReversibleBlocksKeepVolume) {
  reference::Binary64 arithmetic;
  const reference::Scope scope(arithmetic);
  for (const char* direction : {"forward", "inverse"}) {
    const Problem problem = reversible(2, direction);
    const Numbers x = streams_of(problem);
    std::vector<std::vector<double>> jacobian;
    for (std::size_t row = 0; row < x.size(); ++row) {
      Numbers unit(x.size(), Number(0));
      unit[row] = Number(1);
      jacobian.emplace_back();
      const Gradients of = gradients(problem, x, unit);
      for (const Number& partial : of.at("s")) jacobian.back().push_back(approximate(partial));
    }
    EXPECT_NEAR(determinant(jacobian), 1, 1e-12) << direction;
  }
}

// --- hashes
// --------------------------------------------------------------------------------------------------------------------

/// Three tokens at angles of 0.3, 1 and 2 to a fourth: how often each shares its bucket, of 400 draws of directions.
TEST(Content, CollisionsGrowWithTheCosine) {
  const double angles[] = {0.3, 1, 2};
  Index shared[] = {0, 0, 0};
  for (int seed = 1; seed <= 400; ++seed) {
    Problem problem = golden::draw(
        golden::parse_query("attest:content.lsh_hash:f64;n=4;d=4;c=2;flag=random;seed=" + std::to_string(seed)).first);
    auto& x = problem.inputs.at("x").values;
    std::fill(x.begin(), x.end(), 0.0);
    x[0] = 1;
    for (std::size_t t = 0; t < 3; ++t) x[4 * (t + 1)] = std::cos(angles[t]), x[4 * (t + 1) + 1] = std::sin(angles[t]);
    reference::Binary64 arithmetic;
    const auto h = reference::outputs_of(arithmetic, problem, "concat").at("h");
    for (std::size_t t = 0; t < 3; ++t) shared[t] += h[t + 1] == h[0] ? 1 : 0;
  }
  EXPECT_GT(shared[0], shared[1] + 40);
  EXPECT_GT(shared[1], shared[2] + 40);
}

/// Tokens in chunks of m take at most 2 m pairs each, and an exponential for each pair; one bucket for all takes them.
TEST(Content, ChunksBoundThePairs) {
  for (const Index n : {16, 32, 64}) {
    Problem problem =
        golden::draw(golden::parse_query("attest:content.lsh_attention:f64;r=1;d=2;m=1;chunk=4;flag=random;seed=1;n=" +
                                         std::to_string(n))
                         .first);
    auto& hashes = problem.inputs.at("hashes").values;
    std::fill(hashes.begin(), hashes.end(), 0.0);
    reference::Cost arithmetic;
    reference::outputs_of(arithmetic, problem, "set");
    EXPECT_EQ(arithmetic.counts().exp, (2 * n - 4) * 4);  // the first chunk has none before it
  }
}

}  // namespace
}  // namespace attest

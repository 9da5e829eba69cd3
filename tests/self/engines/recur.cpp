// SPDX-License-Identifier: MIT
// The recur engine beside plain loops in long double, at sizes around its tiles.
#include "attest/openmp/engine/recur.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "attest/openmp/simd/targets.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp::engine {
namespace {

using Exact = long double;

struct Sizes {
  Index n, c, m;
};
// around tiles of 24 tokens, vectors of 2 to 16, blocks of rows of products
constexpr Sizes kSizes[] = {{1, 1, 1},   {1, 64, 64},  {2, 3, 5},    {23, 16, 17}, {24, 64, 64},
                            {25, 7, 32}, {47, 33, 16}, {65, 64, 64}, {130, 4, 9},  {300, 20, 40}};
constexpr Order kOrders[] = {Order::all_pairs, Order::token_by_token, Order::chunked, Order::scan, Order::two_level};

/// Inputs of one head; `transposed`: tokens lie side by side.
template <class T>
struct Case {
  Case(Sizes sizes_, bool transposed_) : sizes(sizes_), transposed(transposed_) {
    std::mt19937 random(static_cast<unsigned>(sizes.n * 1000 + sizes.c));
    std::uniform_real_distribution<T> positive(T(0.1), T(1)), any(-1, 1);
    const auto fill = [&](std::vector<T>& x, Index count, auto& draw) {
      x.resize(static_cast<std::size_t>(count));
      for (T& element : x) element = draw(random);
    };
    fill(q, sizes.n * sizes.c, positive);
    fill(k, sizes.n * sizes.c, positive);
    fill(v, sizes.n * sizes.m, any);
    fill(grad_o, sizes.n * sizes.m, any);
    fill(S, sizes.c * sizes.m, any);
    fill(z, sizes.c, positive);
  }
  View<const T, 2> tokens(const std::vector<T>& x, Index width) const {
    return transposed ? View<const T, 2>(x.data(), {sizes.n, width}, {1, sizes.n})
                      : View<const T, 2>(x.data(), {sizes.n, width});
  }
  Recurrence<T> recurrence(bool carries) const {
    Recurrence<T> in{.q = tokens(q, sizes.c), .k = tokens(k, sizes.c), .v = tokens(v, sizes.m)};
    if (carries) in.S = {S.data(), {sizes.c, sizes.m}}, in.z = {z.data(), {sizes.c}};
    return in;
  }

  Sizes sizes;
  bool transposed;
  std::vector<T> q, k, v, grad_o, S, z;
};

template <class T>
struct Results {
  std::vector<T> o, S, z;
};

/// run(in) with outputs of their own.
template <class T, class F>
Results<T> results(Recurrence<T> in, F&& run) {
  const Index n = in.q.extent(0), c = in.k.extent(1), m = in.v.extent(1);
  const auto filled = [](Index count) { return std::vector<T>(static_cast<std::size_t>(count), T(7)); };
  Results<T> found{filled(n * m), filled(c * m), filled(c)};
  in.o = {found.o.data(), {n, m}};
  in.S_after = {found.S.data(), {c, m}};
  in.z_after = {found.z.data(), {c}};
  run(in);
  return found;
}

Exact mapped(Exact x, bool maps) { return !maps ? x : x > 0 ? x + 1 : std::exp(x); }

/// All pairs in long double: j <= i if causal, keys that the mask shows.
template <class T>
Results<Exact> exact(const Recurrence<T>& in, bool causal) {
  const Index n = in.q.extent(0), c = in.k.extent(1), m = in.v.extent(1);
  const auto zeros = [](Index count) { return std::vector<Exact>(static_cast<std::size_t>(count), 0); };
  Results<Exact> found{zeros(n * m), zeros(c * m), zeros(c)};
  const bool maps = static_cast<bool>(in.map);
  const auto at = [](std::vector<Exact>& x, Index i) -> Exact& { return x[static_cast<std::size_t>(i)]; };
  for (Index a = 0; a < c; ++a) {
    at(found.z, a) = in.z ? in.z(a) : T(0);
    for (Index b = 0; b < m; ++b) at(found.S, a * m + b) = in.S ? in.S(a, b) : T(0);
  }
  const auto take = [&](Index j) {
    if (in.mask && !in.mask(j)) return;
    for (Index a = 0; a < c; ++a) {
      const Exact key = mapped(in.k(j, a), maps);
      at(found.z, a) += key;
      for (Index b = 0; b < m; ++b) at(found.S, a * m + b) += key * in.v(j, b);
    }
  };
  if (!causal)
    for (Index j = 0; j < n; ++j) take(j);
  for (Index i = 0; i < n; ++i) {
    if (causal) take(i);
    Exact sum = in.eps;
    for (Index a = 0; a < c; ++a) {
      const Exact query = mapped(in.q(i, a), maps);
      sum += query * at(found.z, a);
      for (Index b = 0; b < m; ++b) at(found.o, i * m + b) += query * at(found.S, a * m + b);
    }
    if (in.normalised)
      for (Index b = 0; b < m; ++b) at(found.o, i * m + b) /= sum;
  }
  return found;
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<Exact>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  Exact most = 1;
  for (const Exact x : want) most = std::max(most, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::abs(got[i] - want[i]), 50 * std::numeric_limits<T>::epsilon() * most) << what << " at " << i;
}

template <class T>
void expect_near(const Results<T>& got, const Results<Exact>& want) {
  ASSERT_NO_FATAL_FAILURE(expect_near(got.o, want.o, "o"));
  ASSERT_NO_FATAL_FAILURE(expect_near(got.S, want.S, "S"));
  ASSERT_NO_FATAL_FAILURE(expect_near(got.z, want.z, "z"));
}

template <class T>
class Recur : public testing::Test {
protected:
  void SetUp() override {
    try {
      simd::vector_bits();
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Recur, Elements);

TYPED_TEST(Recur, OutputsAndStatesOfEveryOrder) {
  using T = TypeParam;
  for (const Sizes sizes : kSizes)
    for (const bool transposed : {false, true}) {
      const Case<T> data(sizes, transposed);
      for (const bool carries : {false, true})
        for (const bool maps : {false, true}) {
          auto in = data.recurrence(carries);
          if (maps) in.map = [](T* x, Index count) { map(Feature::elu_plus_one, x, count); };
          in.eps = T(0.25);
          const auto want = exact(in, true);
          for (const Order order : kOrders)
            for (const Index chunk : {1, 8, 24, 64}) {
              SCOPED_TRACE(testing::Message() << sizes.n << ", " << sizes.c << ", " << sizes.m << ", order "
                                              << static_cast<int>(order) << ", chunk " << chunk);
              const auto got = results(in, [&](const auto& call) { causal(call, order, chunk); });
              ASSERT_NO_FATAL_FAILURE(expect_near(got, want));
            }
          if (sizes.n > 1 || !carries) continue;
          for (const bool read_first : {false, true}) {
            const auto got = results(in, [&](const auto& call) { step(call, read_first); });
            ASSERT_NO_FATAL_FAILURE(expect_near(got, want));
          }
        }
    }
}

TYPED_TEST(Recur, WithoutOrderInTime) {
  using T = TypeParam;
  for (const Sizes sizes : kSizes) {
    const Case<T> data(sizes, false);
    const auto mask = std::make_unique<bool[]>(static_cast<std::size_t>(sizes.n));
    for (Index j = 0; j < sizes.n; ++j) mask[static_cast<std::size_t>(j)] = j % 3 != 1;
    for (const bool masked : {false, true}) {
      auto in = data.recurrence(false);
      if (masked) in.mask = {mask.get(), {sizes.n}};
      const auto want = exact(in, false);
      for (const Whole order : {Whole::all_pairs, Whole::state, Whole::shards}) {
        const auto got = results(in, [&](const auto& call) { whole(call, order, 8); });
        ASSERT_NO_FATAL_FAILURE(expect_near(got.o, want.o, "o"));
        if (order == Whole::all_pairs) continue;
        ASSERT_NO_FATAL_FAILURE(expect_near(got, want));
      }
    }
  }
}

template <class T>
std::vector<T> gradients(const Case<T>& data, Order order, bool normalised, bool augmented) {
  const auto [n, c, m] = data.sizes;
  std::vector<T> all(static_cast<std::size_t>(n * (2 * c + m)), T(7));
  Gradients<T> in{.q = data.tokens(data.q, c),
                  .k = data.tokens(data.k, c),
                  .v = data.tokens(data.v, m),
                  .grad_o = data.tokens(data.grad_o, m)};
  in.normalised = normalised, in.augmented = augmented, in.eps = T(0.25);
  in.grad_q = {all.data(), {n, c}};
  in.grad_k = {all.data() + n * c, {n, c}};
  in.grad_v = {all.data() + 2 * n * c, {n, m}};
  causal_backward(in, order, 24);
  return all;
}

TYPED_TEST(Recur, Gradients) {
  using T = TypeParam;
  for (const Sizes sizes : kSizes)
    for (const bool transposed : {false, true})
      for (const bool normalised : {false, true}) {
        const Case<T> data(sizes, transposed);
        const auto [n, c, m] = sizes;
        auto in = data.recurrence(false);
        in.eps = T(0.25);
        const auto forward = exact(in, true);
        std::vector<Exact> want(static_cast<std::size_t>(n * (2 * c + m)), 0);
        const auto at = [&](Index i) -> Exact& { return want[static_cast<std::size_t>(i)]; };
        const auto grad = data.tokens(data.grad_o, m);
        for (Index i = 0; i < n; ++i) {
          std::vector<Exact> pairs(static_cast<std::size_t>(i + 1), 0);
          Exact sum = in.eps, e = 0;
          for (Index j = 0; j <= i; ++j) {
            for (Index a = 0; a < c; ++a) pairs[static_cast<std::size_t>(j)] += Exact(in.q(i, a)) * in.k(j, a);
            sum += pairs[static_cast<std::size_t>(j)];
          }
          if (!normalised) sum = 1;
          if (normalised)
            for (Index b = 0; b < m; ++b) e -= grad(i, b) * forward.o[static_cast<std::size_t>(i * m + b)] / sum;
          for (Index j = 0; j <= i; ++j) {
            Exact slope = e;
            for (Index b = 0; b < m; ++b) {
              slope += grad(i, b) / sum * in.v(j, b);
              at(2 * n * c + j * m + b) += pairs[static_cast<std::size_t>(j)] * grad(i, b) / sum;
            }
            for (Index a = 0; a < c; ++a) {
              at(i * c + a) += slope * in.k(j, a);
              at(n * c + j * c + a) += slope * in.q(i, a);
            }
          }
        }
        for (const Order order : kOrders)
          for (const bool augmented : {false, true}) {
            if (order == Order::scan && normalised) continue;  // it gives no denominators
            ASSERT_NO_FATAL_FAILURE(expect_near(gradients(data, order, normalised, augmented), want, "gradient"))
                << n << ", order " << static_cast<int>(order) << (normalised ? ", normalised" : "");
          }
      }
}

TYPED_TEST(Recur, WhatIsHiddenMayBeNaN) {
  using T = TypeParam;
  constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
  for (const Index m : {Index(5), Index(32)}) {
    Case<T> data({70, 16, m}, false);
    const auto poison = [&](T key, T value) {  // token 40
      for (Index a = 0; a < 16; ++a) data.k[static_cast<std::size_t>(40 * 16 + a)] = key;
      for (Index b = 0; b < m; ++b) data.v[static_cast<std::size_t>(40 * m + b)] = value;
    };
    for (const Order order : kOrders) {
      const auto outputs = [&] {
        return results(data.recurrence(false), [&](const auto& call) { causal(call, order, 24); }).o;
      };
      poison(1, 1);
      const auto clean = outputs();
      for (const bool in_key : {false, true}) {
        poison(in_key ? kNaN : T(1), in_key ? T(1) : kNaN);
        const auto poisoned = outputs();
        for (std::size_t i = 0; i < static_cast<std::size_t>(40 * m); ++i)
          ASSERT_NEAR(poisoned[i], clean[i], 8 * std::numeric_limits<T>::epsilon());
        for (Index i = 0; i < 70; ++i)
          ASSERT_EQ(std::isnan(poisoned[static_cast<std::size_t>(i * m)]), i >= 40)
              << i << ", order " << static_cast<int>(order);
      }
    }
    const auto mask = std::make_unique<bool[]>(70);
    for (Index j = 0; j < 70; ++j) mask[static_cast<std::size_t>(j)] = j != 40;
    for (const Whole order : {Whole::all_pairs, Whole::state, Whole::shards}) {
      auto in = data.recurrence(false);
      in.mask = {mask.get(), {70}};
      const auto outputs = [&] { return results(in, [&](const auto& call) { whole(call, order, 8); }).o; };
      poison(1, 1);
      const auto clean = outputs();
      poison(kNaN, kNaN);
      EXPECT_EQ(outputs(), clean) << static_cast<int>(order);
    }
  }
}

TYPED_TEST(Recur, DenominatorsOfZero) {
  using T = TypeParam;
  Case<T> data({50, 8, 6}, false);
  for (Index i = 0; i < 30 * 8; ++i) data.k[static_cast<std::size_t>(i)] = 0;
  for (const Order order : kOrders) {
    auto in = data.recurrence(false);
    for (const T undefined : {T(0), T(3)}) {
      in.undefined = undefined;
      const auto o = results(in, [&](const auto& call) { causal(call, order, 24); }).o;
      for (Index i = 0; i < 30 * 6; ++i) ASSERT_EQ(o[static_cast<std::size_t>(i)], undefined);
      ASSERT_NE(o[30 * 6], undefined);
    }
  }
}

/// Alone, and as tasks of a team that works on several heads.
TYPED_TEST(Recur, TheNumberOfThreadsChangesNoBit) {
  using T = TypeParam;
  const int before = omp_get_max_threads();
  for (const Sizes sizes : {Sizes{700, 32, 48}, Sizes{2000, 16, 16}}) {
    const Case<T> data(sizes, false);
    const auto in = data.recurrence(true);
    const auto all = [&](int threads, bool in_team) {
      omp_set_num_threads(threads);
      std::vector<std::vector<T>> found(2);
      const auto head = [&](Index h) {
        auto& bits = found[static_cast<std::size_t>(h)];
        const auto add = [&](const std::vector<T>& more) { bits.insert(bits.end(), more.begin(), more.end()); };
        for (const Order order : kOrders) {
          const auto got = results(in, [&](const auto& call) { causal(call, order, 24); });
          add(got.o), add(got.S), add(got.z);
          if (order != Order::scan) add(gradients(data, order, true, false)), add(gradients(data, order, true, true));
        }
        for (const Whole order : {Whole::all_pairs, Whole::state, Whole::shards})
          add(results(in, [&](const auto& call) { whole(call, order, 8); }).o);
      };
      if (in_team) {
#pragma omp parallel
#pragma omp single
        each_task(2, true, head);
      } else {
        for (Index h = 0; h < 2; ++h) head(h);
      }
      return found;
    };
    const auto one = all(1, false);
    for (const int threads : {1, 2, 3, 5})
      for (const bool in_team : {false, true}) {
        const auto several = all(threads, in_team);
        for (std::size_t h = 0; h < 2; ++h) {
          ASSERT_EQ(one[h].size(), several[h].size());
          ASSERT_EQ(std::memcmp(one[h].data(), several[h].data(), one[h].size() * sizeof(T)), 0)
              << threads << " threads" << (in_team ? ", in a team" : "");
        }
      }
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace attest::openmp::engine

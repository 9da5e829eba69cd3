// SPDX-License-Identifier: MIT
// The attend engine against plain loops in long double, at sizes around its tiles, and with several numbers of threads.
#include "attest/openmp/engine/attend.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "attest/openmp/simd/targets.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp::engine {
namespace {

using Exact = long double;

struct Sizes {
  Index n, s, d, m;
};

/// Inputs and outputs of one head; `Transposed`: keys and values lie with their tokens side by side.
template <class T>
struct Case {
  explicit Case(Sizes sizes_, bool transposed_) : sizes(sizes_), transposed(transposed_) {
    std::mt19937 random(static_cast<unsigned>(sizes.n * 1000 + sizes.s));
    std::normal_distribution<T> normal;
    const auto fill = [&](std::vector<T>& x, Index count) {
      x.resize(static_cast<std::size_t>(count));
      for (T& element : x) element = normal(random);
    };
    fill(q, sizes.n * sizes.d);
    fill(k, sizes.s * sizes.d);
    fill(v, sizes.s * sizes.m);
    fill(grad_o, sizes.n * sizes.m);
    fill(bias, sizes.n * sizes.s);
    mask = std::make_unique<bool[]>(bias.size());
    for (std::size_t at = 0; at < bias.size(); ++at) mask[at] = random() % 3 != 0;
  }

  View<const T, 2> of_tokens(const std::vector<T>& x, Index width) const {
    return transposed ? View<const T, 2>(x.data(), {sizes.s, width}, {1, sizes.s})
                      : View<const T, 2>(x.data(), {sizes.s, width});
  }
  Problem<T> problem() const {
    Problem<T> p{.q = {q.data(), {sizes.n, sizes.d}}, .k = of_tokens(k, sizes.d), .v = of_tokens(v, sizes.m)};
    p.scale = 1 / std::sqrt(static_cast<T>(sizes.d));
    p.shift = sizes.s - sizes.n;
    return p;
  }

  Sizes sizes;
  bool transposed;
  std::vector<T> q, k, v, grad_o, bias;
  std::unique_ptr<bool[]> mask;
};

template <class T>
bool visible(const Problem<T>& p, Index i, Index j) {
  const Index own = i + p.shift;
  return !(p.right && j > own + *p.right) && !(p.left && j < own - *p.left) && !(p.mask && !p.mask(i, j)) &&
         !(p.bias && std::isinf(p.bias(i, j)));
}

/// Weights of all pairs.
template <class T>
std::vector<Exact> weights(const Problem<T>& p, Exact sink) {
  const Index n = p.q.extent(0), s = p.k.extent(0);
  std::vector<Exact> a(static_cast<std::size_t>(n * s), 0);
  for (Index i = 0; i < n; ++i) {
    Exact sum = std::exp(sink);
    for (Index j = 0; j < s; ++j) {
      if (!visible(p, i, j)) continue;
      Exact l = 0;
      for (Index c = 0; c < p.q.extent(1); ++c) l += static_cast<Exact>(p.q(i, c)) * p.k(j, c);
      l *= p.scale;
      if (p.softcap > 0) l = p.softcap * std::tanh(l / p.softcap);
      if (p.bias) l += p.bias(i, j);
      a[static_cast<std::size_t>(i * s + j)] = std::exp(l);
      sum += std::exp(l);
    }
    for (Index j = 0; j < s; ++j)
      if (sum > 0) a[static_cast<std::size_t>(i * s + j)] /= sum;
  }
  return a;
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<Exact>& want, const char* what) {
  const Exact bound = 200 * std::numeric_limits<T>::epsilon();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t at = 0; at < got.size(); ++at)
    ASSERT_LE(std::abs(got[at] - want[at]), bound * (1 + std::abs(want[at]))) << what << " at " << at;
}

template <class T>
std::vector<T> output(const Problem<T>& p, Forward<T> forward, std::vector<T>* lse = nullptr) {
  const Index n = p.q.extent(0), m = p.v.extent(1);
  std::vector<T> o(static_cast<std::size_t>(n * m), T(7));
  forward.o = {o.data(), {n, m}};
  if (lse) {
    lse->assign(static_cast<std::size_t>(n), T(7));
    forward.lse = {lse->data(), {n}};
  }
  attend(p, forward);
  return o;
}

template <class T>
struct Gradients {
  std::vector<T> q, k, v, bias;
};

template <class T>
Gradients<T> gradients(const Problem<T>& p, const std::vector<T>& grad_o, Gradient gradient, Index block) {
  const Index n = p.q.extent(0), s = p.k.extent(0), d = p.q.extent(1), m = p.v.extent(1);
  const auto filled = [](Index count) { return std::vector<T>(static_cast<std::size_t>(count), T(7)); };
  Gradients<T> g{filled(n * d), filled(s * d), filled(s * m), filled(n * s)};
  attend_backward(p, {.gradient = gradient,
                      .block = block,
                      .grad_o = {grad_o.data(), {n, m}},
                      .grad_q = {g.q.data(), {n, d}},
                      .grad_k = {g.k.data(), {s, d}},
                      .grad_v = {g.v.data(), {s, m}},
                      .grad_bias = {g.bias.data(), {n, s}}});
  return g;
}

/// each(case, problem) for what hides keys in several ways, at sizes around the tiles.
template <class T, class F>
void each_problem(F&& each) {
  const Sizes all[] = {{1, 1, 1, 1},   {1, 300, 5, 7},   {2, 64, 64, 64}, {3, 65, 17, 33}, {11, 12, 3, 2},
                       {47, 63, 8, 4}, {48, 64, 64, 64}, {49, 65, 9, 65}, {97, 130, 4, 3}, {150, 600, 16, 16}};
  for (const Sizes sizes : all)
    for (const bool transposed : {false, true}) {
      const Case<T> data(sizes, transposed);
      for (const char* kind : {"full", "causal", "window", "mask", "bias"}) {
        SCOPED_TRACE(testing::Message() << kind << ' ' << sizes.n << " x " << sizes.s << ", " << sizes.d << ", "
                                        << sizes.m << (transposed ? ", transposed" : ""));
        auto p = data.problem();
        const std::string_view what(kind);
        if (what == "causal") p.right = 0;
        if (what == "window") p.left = 9, p.right = 3;
        if (what == "mask") p.mask = {data.mask.get(), {sizes.n, sizes.s}};
        if (what == "bias") p.bias = {data.bias.data(), {sizes.n, sizes.s}};
        each(data, p);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
}

constexpr Schedule kSchedules[] = {Schedule::whole_row, Schedule::log_sum_exp, Schedule::online, Schedule::split};
constexpr Gradient kGradients[] = {Gradient::weights_kept, Gradient::recomputed,
                                   Gradient::recomputed_delta_from_output};

template <class T>
class Attend : public testing::Test {
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
TYPED_TEST_SUITE(Attend, Elements);

TYPED_TEST(Attend, OutputsOfEverySchedule) {
  using T = TypeParam;
  each_problem<T>([](const Case<T>& data, Problem<T> p) {
    for (const T softcap : {T(0), T(2)})
      for (const bool sink : {false, true}) {
        p.softcap = softcap;
        const auto a = weights(p, sink ? Exact(0.5) : -std::numeric_limits<Exact>::infinity());
        std::vector<Exact> want(static_cast<std::size_t>(data.sizes.n * data.sizes.m), 0);
        for (Index i = 0; i < data.sizes.n; ++i)
          for (Index j = 0; j < data.sizes.s; ++j)
            for (Index c = 0; c < data.sizes.m; ++c)
              want[static_cast<std::size_t>(i * data.sizes.m + c)] +=
                  a[static_cast<std::size_t>(i * data.sizes.s + j)] * p.v(j, c);
        for (const Schedule schedule : kSchedules)
          for (const Index block : {8, 64}) {
            SCOPED_TRACE(testing::Message() << "schedule " << static_cast<int>(schedule) << ", block " << block);
            Forward<T> forward{.schedule = schedule, .block = block};
            if (sink) forward.sink = T(0.5);
            ASSERT_NO_FATAL_FAILURE(expect_near(output(p, forward), want, "o"));
          }
      }
  });
}

TYPED_TEST(Attend, Gradients) {
  using T = TypeParam;
  each_problem<T>([](const Case<T>& data, const Problem<T>& p) {
    const auto [n, s, d, m] = data.sizes;
    const auto a = weights(p, -std::numeric_limits<Exact>::infinity());
    const auto at = [](std::vector<Exact>& x, Index i) -> Exact& { return x[static_cast<std::size_t>(i)]; };
    const auto zeros = [](Index count) { return std::vector<Exact>(static_cast<std::size_t>(count), 0); };
    auto grad_q = zeros(n * d), grad_k = zeros(s * d), grad_v = zeros(s * m), grad_l = zeros(n * s);
    for (Index i = 0; i < n; ++i) {
      Exact delta = 0;
      for (Index j = 0; j < s; ++j) {
        const Exact w = a[static_cast<std::size_t>(i * s + j)];
        for (Index c = 0; c < m; ++c) {
          const Exact g = data.grad_o[static_cast<std::size_t>(i * m + c)];
          at(grad_l, i * s + j) += g * p.v(j, c);
          at(grad_v, j * m + c) += w * g;
        }
        delta += w * at(grad_l, i * s + j);
      }
      for (Index j = 0; j < s; ++j) {
        Exact& l = at(grad_l, i * s + j);
        l = a[static_cast<std::size_t>(i * s + j)] * (l - delta);
        for (Index c = 0; c < d; ++c) {
          at(grad_q, i * d + c) += p.scale * l * p.k(j, c);
          at(grad_k, j * d + c) += p.scale * l * p.q(i, c);
        }
      }
    }
    for (const Gradient gradient : kGradients) {
      SCOPED_TRACE(testing::Message() << "gradient " << static_cast<int>(gradient));
      const auto g = gradients(p, data.grad_o, gradient, 8);
      ASSERT_NO_FATAL_FAILURE(expect_near(g.q, grad_q, "grad_q"));
      ASSERT_NO_FATAL_FAILURE(expect_near(g.k, grad_k, "grad_k"));
      ASSERT_NO_FATAL_FAILURE(expect_near(g.v, grad_v, "grad_v"));
      ASSERT_NO_FATAL_FAILURE(expect_near(g.bias, grad_l, "grad_bias"));
    }
  });
}

TYPED_TEST(Attend, WhatIsHiddenMayBeNaN) {
  using T = TypeParam;
  const Sizes sizes{60, 70, 6, 5};
  for (const Index n : {Index(1), sizes.n}) {
    Case<T> data({n, sizes.s, sizes.d, sizes.m}, false);
    for (Index i = 0; i < n; ++i) data.mask[static_cast<std::size_t>(i * sizes.s + 66)] = false;
    auto p = data.problem();
    p.mask = {data.mask.get(), {n, sizes.s}};
    const auto poison = [&](T value) {
      for (Index c = 0; c < sizes.d; ++c) data.k[static_cast<std::size_t>(66 * sizes.d + c)] = value;
      for (Index c = 0; c < sizes.m; ++c) data.v[static_cast<std::size_t>(66 * sizes.m + c)] = value;
    };
    for (const Schedule schedule : kSchedules) {
      poison(1);
      const auto clean = output(p, {.schedule = schedule});
      poison(std::numeric_limits<T>::quiet_NaN());
      EXPECT_EQ(output(p, {.schedule = schedule}), clean) << static_cast<int>(schedule);
    }
    for (const Gradient gradient : kGradients) {
      poison(1);
      const auto clean = gradients(p, data.grad_o, gradient, 8);
      poison(std::numeric_limits<T>::quiet_NaN());
      const auto poisoned = gradients(p, data.grad_o, gradient, 8);
      EXPECT_EQ(poisoned.q, clean.q);
      EXPECT_EQ(poisoned.k, clean.k);
      EXPECT_EQ(poisoned.v, clean.v);
      EXPECT_EQ(poisoned.bias, clean.bias);
    }
  }
}

TYPED_TEST(Attend, NaNThatIsSeenIsShown) {
  using T = TypeParam;
  Case<T> data({60, 70, 6, 5}, false);
  data.v[66 * 5] = std::numeric_limits<T>::quiet_NaN();
  auto p = data.problem();
  p.right = 0;
  for (const Schedule schedule : kSchedules) {
    const auto o = output(p, {.schedule = schedule});
    for (Index i = 0; i < 60; ++i) EXPECT_EQ(std::isnan(o[static_cast<std::size_t>(i * 5)]), i + 10 >= 66) << i;
  }
}

TYPED_TEST(Attend, QueriesThatSeeNothing) {
  using T = TypeParam;
  Case<T> data({50, 40, 6, 5}, false);
  for (Index j = 0; j < 40; ++j) data.mask[static_cast<std::size_t>(49 * 40 + j)] = false;
  auto p = data.problem();
  p.mask = {data.mask.get(), {50, 40}};
  for (const Schedule schedule : kSchedules) {
    std::vector<T> lse;
    EXPECT_EQ(output(p, {.schedule = schedule}, &lse)[49 * 5], 0);
    EXPECT_EQ(lse[49], -std::numeric_limits<T>::infinity());
    EXPECT_TRUE(std::isfinite(lse[48]));
    EXPECT_TRUE(std::isnan(output(p, {.schedule = schedule, .empty = Empty::nan})[49 * 5]));
    T mean = 0;
    for (Index j = 0; j < 40; ++j) mean += p.v(j, 0);
    EXPECT_EQ(output(p, {.schedule = schedule, .empty = Empty::mean_of_values})[49 * 5], mean / 40);
  }
}

/// Alone, and as tasks of a team that works on several heads.
TYPED_TEST(Attend, TheNumberOfThreadsChangesNoBit) {
  using T = TypeParam;
  const int before = omp_get_max_threads();
  for (const Sizes sizes : {Sizes{700, 900, 16, 24}, Sizes{1, 5000, 64, 64}, Sizes{40, 3000, 32, 32}}) {
    const Case<T> data(sizes, false);
    auto p = data.problem();
    p.right = 0;
    const auto all = [&](int threads, bool in_team) {
      omp_set_num_threads(threads);
      std::vector<std::vector<T>> results(2 * (std::size(kSchedules) + std::size(kGradients)));
      const auto head = [&](std::size_t h) {
        for (std::size_t t = 0; t < std::size(kSchedules); ++t)
          results[h * 7 + t] = output(p, {.schedule = kSchedules[t]});
        for (std::size_t t = 0; t < std::size(kGradients); ++t) {
          auto g = gradients(p, data.grad_o, kGradients[t], 64);
          g.q.insert(g.q.end(), g.k.begin(), g.k.end());
          g.q.insert(g.q.end(), g.v.begin(), g.v.end());
          results[h * 7 + 4 + t] = g.q;
        }
      };
      if (in_team) {
#pragma omp parallel
#pragma omp single
        each_task(2, true, [&](Index h) { head(static_cast<std::size_t>(h)); });
      } else {
        for (std::size_t h = 0; h < 2; ++h) head(h);
      }
      return results;
    };
    const auto one = all(1, false);
    for (const int threads : {1, 2, 3, 5})
      for (const bool in_team : {false, true}) {
        const auto several = all(threads, in_team);
        for (std::size_t t = 0; t < one.size(); ++t)
          ASSERT_EQ(std::memcmp(one[t].data(), several[t].data(), one[t].size() * sizeof(T)), 0)
              << threads << " threads, result " << t << (in_team ? ", in a team" : "");
      }
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace attest::openmp::engine

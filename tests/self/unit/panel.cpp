// SPDX-License-Identifier: MIT
// A panel of correct kernels, each of a kind that was once rejected, and beside it a wrong one that looks like it. The
// correct one stays within every bound, the wrong one does not. After them correct ways of taking an elementary step,
// each in every equation.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "attest/golden/agreement.hpp"
#include "attest/golden/store.hpp"
#include "attest/judge/faults.hpp"
#include "attest/judge/select.hpp"
#include "attest/judge/verdict.hpp"
#include "each_equation.hpp"

namespace attest::judge {
namespace {

double f32(double x) { return static_cast<double>(static_cast<float>(x)); }

/// The nearest number below in magnitude that has that many significant bits.
double cut(double x, int bits) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~((std::uint64_t{1} << (53 - bits)) - 1));
}

/// Read-only access to a tensor as a matrix; a missing one is zeros.
struct Rows {
  const Array* array = nullptr;
  Index width = 1;

  Rows(const Problem& problem, const std::string& name, Index columns) : width(columns) {
    const auto given = problem.inputs.find(name);
    if (given != problem.inputs.end()) array = &given->second;
  }
  double operator()(Index i, Index a) const {
    return array ? array->values[static_cast<std::size_t>(i * width + a)] : 0;
  }
};

template <class F>
Array filled(std::vector<Index> shape, F&& f) {
  Array array{shape, {}};
  const Index width = shape.back(), height = count(shape) / std::max<Index>(width, 1);
  for (Index i = 0; i < height; ++i)
    for (Index a = 0; a < width; ++a) array.values.push_back(f(i, a));
  return array;
}

using Compute = std::function<Arrays(const Problem&)>;
using Change = std::function<void(Problem&)>;

/// The largest error of those outputs over some draws, as a share of its bound.
double worst(const std::string& query, const Compute& kernel, int draws, const Change& change = {}) {
  double ratio = 0;
  auto [c, profile_name] = golden::parse_query(query);
  const auto& profile = golden::profile(profile_name);
  for (int draw = 0; draw < draws; ++draw, ++c.seed) {
    golden::GoldenCase drawn{c, golden::draw(c), {}, {}};
    if (change) change(drawn.problem);
    drawn.certified = golden::certify(drawn.problem, {}, {.check_witnesses = false});
    const auto judged = judged_by(std::move(drawn), profile);
    Arrays got = kernel(judged.problem);
    for (auto& [name, array] : got)
      for (double& x : array.values)
        x = round_to(judged.problem.spec->output(name)->state ? profile.state : profile.storage, x);
    const auto result = compare(judged.problem, judged.certified, got, profile);
    EXPECT_GT(result.compared, 0) << query;
    ratio = std::max(ratio, result.worst.ratio());
  }
  return ratio;
}

void expect_right(const std::string& query, const Compute& kernel, int draws = 8, const Change& change = {}) {
  const double ratio = worst(query, kernel, draws, change);
  testing::Test::RecordProperty("ratio", std::to_string(ratio));
  EXPECT_LE(ratio, 1) << query;
}
void expect_wrong(const std::string& query, const Compute& kernel, int draws = 8, const Change& change = {}) {
  EXPECT_GT(worst(query, kernel, draws, change), 1) << query << ": a wrong kernel passes";
}

// --- factors that are cut, not rounded -------------------------------------------------------------------------------

Compute projection(int bits) {
  return [bits](const Problem& p) {
    const Index f = p.sizes.at("f"), d = p.sizes.at("d"), m = p.sizes.at("m");
    const auto times = [&](const char* x, const char* w, Index width) {
      const Rows left(p, x, f), right(p, w, width);
      return [=](Index i, Index a) {
        float total = 0;
        for (Index t = 0; t < f; ++t) total += static_cast<float>(cut(left(i, t), bits) * cut(right(t, a), bits));
        return static_cast<double>(total);
      };
    };
    return Arrays{{"q", filled({p.sizes.at("n"), d}, times("x", "w_q", d))},
                  {"k", filled({p.sizes.at("s"), d}, times("x_kv", "w_k", d))},
                  {"v", filled({p.sizes.at("s"), m}, times("x_kv", "w_v", m))}};
  };
}

TEST(Panel, TensorCoresMayCutTheirFactors) {
  for (const char* sizes : {"n=8;s=8;f=1;d=8;m=8", "n=9;s=5;f=2;d=3;m=2", "n=4;s=4;f=16;d=4;m=4"}) {
    const std::string query = std::string("attest:attention.qkv_projection:tf32;") + sizes + ";exact=f32";
    expect_right(query + ";seed=3", projection(11), 20);
    expect_wrong(query + ";seed=3", projection(8), 20);
  }
}

/// S' = S + phi_k^T v and Z' = Z + sum_j phi_k_j, with Z a column of the same product.
Compute linear_state(int bits) {
  return [bits](const Problem& p) {
    const Index n = p.sizes.at("n"), c = p.sizes.at("c"), m = p.sizes.at("m");
    const Rows phi(p, "phi_k", c), v(p, "v", m), S(p, "S", m), Z(p, "Z", 1);
    const auto product = [=](Index a, double start, auto&& value) {
      float total = static_cast<float>(start);
      for (Index j = 0; j < n; ++j) total += static_cast<float>(cut(phi(j, a), bits) * cut(value(j), bits));
      return static_cast<double>(total);
    };
    return Arrays{
        {"S", filled({c, m}, [&](Index a, Index b) { return product(a, S(a, b), [&](Index j) { return v(j, b); }); })},
        {"Z", filled({c}, [&](Index, Index a) { return product(a, Z(a, 0), [](Index) { return 1.0; }); })}};
  };
}

TEST(Panel, TensorCoresMayCutFeaturesOfLinearAttention) {
  for (const char* id : {"linear.causal_chunked", "linear.causal"})
    for (const char* n : {"1", "5", "33"}) {
      const std::string query = std::string("attest:") + id + ":tf32;n=" + n + ";c=6;m=5;exact=f32;seed=3";
      expect_right(query, linear_state(11), 20);
      expect_wrong(query, linear_state(8), 20);
    }
}

// --- features that are rounded once ----------------------------------------------------------------------------------

double elu_plus_one(double x) { return f32(x > 0 ? x + 1 : std::exp(x)); }

/// memory' = memory + phi^T v, z' = z + sum_t phi_t, features held in that format. `keys` rounds what the map is given.
Compute memory_update(DType features, DType keys = DType::f32) {
  return [=](const Problem& p) {
    const Index n = p.sizes.at("n"), d = p.sizes.at("d"), m = p.sizes.at("m");
    const Rows k(p, "k", d), v(p, "v", m), memory(p, "memory", m), z(p, "z", 1);
    const auto phi = [=](Index t, Index a) {
      return round_to(features, elu_plus_one(round_to(keys, k(t, a) * 3) / 3));
    };
    Arrays outputs;
    outputs["z"] = filled({d}, [&](Index, Index a) {
      float total = static_cast<float>(z(a, 0));
      for (Index t = 0; t < n; ++t) total += static_cast<float>(phi(t, a));
      return static_cast<double>(total);
    });
    const bool delta = p.spec->id != "infini.memory_update_linear" &&
                       (p.spec->id == "infini.memory_update_delta" ||
                        (p.parameters.count("update") && std::get<std::string>(p.parameters.at("update")) == "delta"));
    if (delta) return outputs;
    outputs["memory"] = filled({d, m}, [&](Index a, Index b) {
      float total = static_cast<float>(memory(a, b));
      for (Index t = 0; t < n; ++t) total += static_cast<float>(phi(t, a) * v(t, b));
      return static_cast<double>(total);
    });
    return outputs;
  };
}

TEST(Panel, FeaturesMayBeRoundedBeforeTheyAreAdded) {
  for (const char* id : {"memory_update_linear", "memory_update_delta", "segment_attention"})
    for (const char* n : {"1", "7", "32"})
      for (const char* with : {"", ";with=memory+z"}) {
        const std::string query = std::string("attest:infini.") + id + ":bf16;n=" + n + ";d=5;m=3" + with + ";seed=3";
        expect_right(query, memory_update(DType::bf16));
        const std::string half = std::string("attest:infini.") + id + ":f16;n=" + n + ";d=5;m=3" + with + ";seed=3";
        expect_right(half, memory_update(DType::f16));
        expect_wrong(half, memory_update(DType::bf16));
      }
}

// --- a gate that is held as a factor ---------------------------------------------------------------------------------

double logistic(double x) { return f32(1 / (1 + std::exp(-x))); }

/// torch.lerp(a_dot, a_mem, sigmoid(beta)): the gate a tensor of the storage format, the rest in binary32.
Compute gate(DType format, DType beta_format = DType::f64, bool eager = false) {
  return [=](const Problem& p) {
    const Index n = p.sizes.at("n"), m = p.sizes.at("m");
    const Rows beta(p, "beta", 1), mem(p, "a_mem", m), dot(p, "a_dot", m);
    const double g = round_to(format, logistic(round_to(beta_format, beta(0, 0))));
    return Arrays{{"a", filled({n, m}, [&](Index i, Index b) {
                     if (eager)  // every operation stores its result
                       return round_to(format, g * mem(i, b)) + round_to(format, round_to(format, 1 - g) * dot(i, b));
                     return f32(dot(i, b) + f32(g * f32(mem(i, b) - dot(i, b))));
                   })}};
  };
}

TEST(Panel, AGateMayBeARoundedFactor) {
  for (const DType format : {DType::bf16, DType::f16})
    for (const char* flag : {"random", "half_open_gate", "half_closed_gate", "open_gate", "large_state",
                             "magnitude_100", "open_gate_empty_memory"}) {
      const std::string query =
          "attest:infini.gate:" + std::string(name(format)) + ";n=6;m=7;flag=" + std::string(flag) + ";seed=3";
      expect_right(query, gate(format));
      expect_right(query, gate(format, DType::f64, true));
    }
  expect_wrong("attest:infini.gate:f16;n=6;m=7;seed=3", gate(DType::bf16));
  // A gate of a rounded beta: sigma'(3) / sigma(3) is small, that of -6 is 1.
  const Change closed = [](Problem& p) { p.inputs.at("beta").values[0] = -6.015625; };
  expect_wrong(
      "attest:infini.gate:f16;n=6;m=7;seed=3",
      [](const Problem& p) {
        Problem other = p;
        other.inputs.at("beta").values[0] = -6;
        other.inputs.at("a_dot").values.assign(other.inputs.at("a_dot").values.size(), 0);
        return gate(DType::f16)(other);
      },
      8,
      [&](Problem& p) {
        closed(p);
        p.inputs.at("a_dot").values.assign(p.inputs.at("a_dot").values.size(), 0);
      });
}

// --- tables in the format of the model -------------------------------------------------------------------------------

double frequency(Index m, Index d) {
  return std::exp(-2.0 * static_cast<double>(m) / static_cast<double>(d) * std::log(10000.0));
}

/// A buffer of waves in that format, added to the tokens; wrong where the angles are held in it too.
Compute table(DType format, bool angles = false) {
  return [=](const Problem& p) {
    const Index d = p.sizes.at("d");
    const auto wave = [=](Index position, Index a) {
      double angle = f32(static_cast<double>(position) * f32(frequency(a / 2, d)));
      if (angles) angle = round_to(format, angle);
      return round_to(format, a % 2 ? std::cos(angle) : std::sin(angle));
    };
    if (p.spec->id == "positional.sinusoidal") {
      const Rows x(p, "x", d);
      const Index start = std::get<Index>(*setting(p, "start"));
      return Arrays{
          {"y", filled({p.sizes.at("n"), d}, [&](Index i, Index a) { return x(i, a) + wave(start + i, a); })}};
    }
    const Index n = p.sizes.at("n");
    const Rows x(p, "x", d);
    const Index position = std::get<Index>(*setting(p, "position_start")),
                step = std::get<Index>(*setting(p, "step_start"));
    return Arrays{{"y", filled(p.inputs.at("x").shape, [&](Index row, Index a) {
                     // the two tables are one buffer: their sum is stored
                     return x(row, a) + round_to(format, wave(position + row % n, a) + wave(step + row / n, a));
                   })}};
  };
}

/// Tokens of the size that shows an error of the table.
void shrink(Problem& p) {
  for (double& x : p.inputs.at("x").values) x *= 0x1p-12;
}
/// Tokens that nearly cancel the waves.
Change cancelling(const Compute& sum) {
  return [sum](Problem& p) {
    auto& x = p.inputs.at("x").values;
    std::fill(x.begin(), x.end(), 0.0);
    const auto waves = sum(p).at("y").values;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = -round_to(DType::bf16, waves[i]);
  };
}

TEST(Panel, TablesMayBeHeldInTheFormatOfTheModel) {
  for (const DType format : {DType::bf16, DType::f16})
    for (const std::string equation : {"positional.sinusoidal", "positional.coordinate_2d"}) {
      const std::string sizes = equation == "positional.sinusoidal" ? ";n=33;d=8" : ";t=5;n=9;d=8;position_start=300";
      const std::string query = "attest:" + equation + ":" + std::string(name(format)) + sizes + ";seed=3";
      expect_right(query, table(format));
      expect_right(query, table(format), 1, shrink);
      expect_right(query, table(format), 1, cancelling(table(DType::f64)));
      expect_wrong(query, table(format, true), 1, cancelling(table(DType::f64)));
    }
}

// --- powers of two ---------------------------------------------------------------------------------------------------

/// y = x log2 e rounded; e^(x - m) = 2^(y - max y). With `fused` the product is contracted into the difference.
/// `constant` is log2 e.
Compute softmax_one(bool fused, float constant = 1.44269504f) {
  return [=](const Problem& p) {
    const Index r = p.sizes.at("r"), s = p.sizes.at("s");
    const Rows x(p, "x", s);
    std::vector<std::vector<double>> weights;
    for (Index row = 0; row < r; ++row) {
      float top = 0;
      for (Index j = 0; j < s; ++j) top = std::max(top, static_cast<float>(x(row, j)) * constant);
      std::vector<float> e;
      float z = std::exp2(-top);
      for (Index j = 0; j < s; ++j) {
        const auto logit = static_cast<float>(x(row, j));
        volatile float product = logit * constant;
        e.push_back(fused ? std::exp2(std::fma(logit, constant, -top)) : std::exp2(product - top));
        z += e.back();
      }
      auto& mine = weights.emplace_back();
      for (const float w : e) mine.push_back(static_cast<double>(w / z));
    }
    return Arrays{{"a", filled({r, s}, [&](Index i, Index j) {
                     return weights[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
                   })}};
  };
}

TEST(Panel, ExponentialsMayBePowersOfTwo) {
  const auto times = [](double by) {
    return [=](Problem& p) {
      for (double& x : p.inputs.at("x").values) x = f32(f32(x) * by);
    };
  };
  for (const double by : {1.0, 49.87, 1000.3, 4999.7}) {
    const std::string query = "attest:attention.softmax_one:f32;r=9;s=12;exact=f32;seed=3";
    expect_right(query, softmax_one(false), 20, times(by));
    expect_right(query, softmax_one(true), 20, times(by));
    expect_wrong(query, softmax_one(true, 1.4426f), 20, times(by));
  }
}

// --- exact families after a division ---------------------------------------------------------------------------------

TEST(Panel, AReciprocalMayBeApproximate) {
  for (const char* sizes : {"n=4;m=5", "n=9;m=3"})
    for (const double half : {0.5 * (1 - 0x1p-24), 0.5 * (1 + 0x1p-23)}) {
      const std::string query = std::string("attest:infini.gate:f32;") + sizes + ";flag=dyadic;seed=1";
      ASSERT_FALSE(exact_outputs(golden::parse_query(query).first).empty());
      const auto mix = [](double g) {
        return [g](const Problem& p) {
          const Index m = p.sizes.at("m");
          const Rows mem(p, "a_mem", m), dot(p, "a_dot", m);
          return Arrays{{"a", filled({p.sizes.at("n"), m}, [&](Index i, Index b) {
                           return f32(f32(g * mem(i, b)) + f32(f32(1 - g) * dot(i, b)));
                         })}};
        };
      };
      expect_right(query, mix(half), 1);
      expect_wrong(query, mix(0.5 * (1 - 0x1p-16)), 1);
    }
}

// --- a memory with which the sum begins ------------------------------------------------------------------------------

/// memory' = memory + phi^T u in panels of 128 tokens, each added to the memory by itself. Keys and values of the
/// single head as they are given, or projected.
Compute panels(bool last_dropped = false) {
  return [=](const Problem& p) {
    const Index n = p.sizes.at("n"), d = p.sizes.at("d"), m = p.sizes.at("m");
    const bool heads = p.spec->id == "infini.multi_head";
    const Index e = heads ? p.sizes.at("e") : 0;
    const Rows x(p, "x", e), w_k(p, "w_k", d), w_v(p, "w_v", m), k(p, "k", d), v(p, "v", m), memory(p, "memory", m),
        z(p, "z", 1);
    const auto key = [&](Index t, Index a) {
      if (!heads) return k(t, a);
      double total = 0;
      for (Index c = 0; c < e; ++c) total += x(t, c) * w_k(c, a);
      return total;
    };
    const auto phi = [&](Index t, Index a) { return key(t, a) > 0 ? key(t, a) + 1 : std::exp(key(t, a)); };
    const auto value = [&](Index t, Index b) {
      double total = heads ? 0 : v(t, b);
      for (Index c = 0; c < e; ++c) total += x(t, c) * w_v(c, b);
      if (p.spec->id == "infini.memory_update_linear") return total;
      double above = 0, below = 0;
      for (Index a = 0; a < d; ++a) above += phi(t, a) * memory(a, b), below += phi(t, a) * z(a, 0);
      return total - above / below;
    };
    std::vector<Index> shape = p.inputs.at("memory").shape;
    return Arrays{{"memory", filled(shape, [&](Index a, Index b) {
                     double total = memory(a, b);
                     for (Index first = 0; first < n; first += 128) {
                       double panel = 0;
                       for (Index t = first; t < std::min(n, first + 128) - (last_dropped ? 1 : 0); ++t)
                         panel += phi(t, a) * value(t, b);
                       total += panel;
                     }
                     return total;
                   })}};
  };
}

TEST(Panel, TheOldMemoryIsATermOfTheSum) {
  // Just above 2^-20, so that an addition to it rounds by as much as it can; updates of 2^-40; and a z so large that
  // the memory answers nothing.
  const Change small = [](Problem& p) {
    for (double& y : p.inputs.at("memory").values) y = 0x1p-20 + std::ldexp(y, -30);
    for (double& y : p.inputs.at("z").values) y = 0x1p60;
    for (double& y : p.inputs.at(p.spec->id == "infini.multi_head" ? "w_v" : "v").values) y = std::ldexp(y, -42);
  };
  for (const std::string id :
       {"infini.multi_head", "infini.segment_attention", "infini.memory_update_delta", "infini.memory_update_linear"}) {
    const std::string more = id == "infini.multi_head"          ? ";h=1;e=1;d=2;m=24;f=1;update=delta"
                             : id == "infini.segment_attention" ? ";d=2;m=24;update=delta"
                                                                : ";d=2;m=24";
    const std::string query = "attest:" + id + ":f64;n=257" + more + ";with=memory+z;seed=3";
    expect_right(query, panels(), 2, small);
    expect_wrong(query, panels(true), 1, small);
  }
}

// --- derivatives of what saturates ----------------------------------------------------------------------------------

using Derive = std::function<Arrays(const Problem&, const Arrays& cotangents)>;

/// The largest error of those gradients over some draws, as a share of its bound.
double worst_gradient(const std::string& query, const Derive& kernel, int draws) {
  double ratio = 0;
  auto [c, profile_name] = golden::parse_query(query);
  const auto& profile = golden::profile(profile_name);
  for (int draw = 0; draw < draws; ++draw, ++c.seed) {
    const auto judged = judged_by(golden::certify_case(c, {.check_witnesses = false}), profile);
    Arrays got = kernel(judged.problem, judged.cotangents);
    for (auto& [name, array] : got)
      for (double& x : array.values) x = round_to(profile.storage, x);
    const auto result = compare(judged.problem, judged.certified, got, profile);
    EXPECT_GT(result.compared, 0) << query;
    ratio = std::max(ratio, result.worst.ratio());
  }
  testing::Test::RecordProperty("ratio", std::to_string(ratio));
  return ratio;
}

/// With y = sigma(beta) in binary32 and that derivative of y by beta.
Derive gate_gradient(double (*derivative)(double y)) {
  return [derivative](const Problem& p, const Arrays& cotangents) {
    const double y = f32(1 / f32(1 + f32(std::exp(-p.inputs.at("beta").values[0]))));
    const auto& memory = p.inputs.at("a_mem").values;
    const auto& local = p.inputs.at("a_dot").values;
    double sum = 0;
    for (std::size_t i = 0; i < memory.size(); ++i) sum += cotangents.at("a").values[i] * (memory[i] - local[i]);
    return Arrays{{"gradient.beta", {{}, {sum * derivative(y)}}}};
  };
}

TEST(Panel, TheDerivativeOfASigmoidMayBeTakenOfItsResult) {
  const auto automatic = gate_gradient([](double y) { return f32(f32(1 - y) * y); });  // PyTorch, JAX
  const auto fine = gate_gradient([](double y) { return y == 1 ? 0 : y - y * y; });
  const auto one_factor = gate_gradient([](double y) { return y; });
  for (const char* flag : {"random", "open_gate", "open_gate_empty_memory", "half_open_gate"})
    for (const auto& kernel : {automatic, fine})
      EXPECT_LE(worst_gradient("attest:infini.gate:f32;n=4;m=5;flag=" + std::string(flag) + ";seed=1", kernel, 8), 1)
          << flag;
  for (const char* flag : {"random", "half_open_gate", "open_gate"})
    EXPECT_GT(worst_gradient("attest:infini.gate:f32;n=4;m=5;flag=" + std::string(flag) + ";seed=1", one_factor, 8), 1)
        << flag;
}

/// One hidden unit per token, of one column: the gradient of w_2 and, by that derivative of tanh, of w_1.
Derive gelu_gradient(double (*derivative)(double tanh)) {
  return [derivative](const Problem& p, const Arrays& cotangents) {
    constexpr double kSteepness = 0.7978845608028654, kCubic = 0.044715;
    const auto& x = p.inputs.at("x").values;
    const double w_1 = p.inputs.at("w_1").values[0], b_1 = p.inputs.at("b_1").values[0],
                 w_2 = p.inputs.at("w_2").values[0];
    double of_w_1 = 0, of_w_2 = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double u = f32(x[i] * w_1 + b_1), g = cotangents.at("y").values[i];
      const double tanh = f32(std::tanh(f32(kSteepness * (u + kCubic * u * u * u))));
      const double left = f32(1 + tanh), inner = kSteepness * (1 + 3 * kCubic * u * u);
      of_w_2 += g * 0.5 * u * left;
      of_w_1 += g * w_2 * x[i] * (0.5 * left + 0.5 * u * derivative(tanh) * inner);
    }
    return Arrays{{"gradient.w_1", {{1, 1}, {of_w_1}}}, {"gradient.w_2", {{1, 1}, {of_w_2}}}};
  };
}

TEST(Panel, TheDerivativeOfGeluMayCancelWhereTanhDoes) {
  const std::string query = "attest:attention.feed_forward:f32;n=1;d=1;f=1;activation=gelu_tanh;exact=f32";
  const auto automatic = gelu_gradient([](double tanh) { return f32(1 - f32(tanh * tanh)); });
  const auto missing = gelu_gradient([](double) { return 0.0; });
  for (const char* size : {"", ";magnitude.w_1=4"}) {
    EXPECT_LE(worst_gradient(query + size + ";seed=1", automatic, 100), 1) << size;
    EXPECT_GT(worst_gradient(query + size + ";seed=1", missing, 100), 1) << size;
  }
}

/// One query, two keys of one column; the derivative of the cap alone is in binary32.
Derive softcap_gradient(double (*derivative)(double tanh)) {
  return [derivative](const Problem& p, const Arrays& cotangents) {
    constexpr double kCap = 0.75;
    const double q = p.inputs.at("q").values[0], g = cotangents.at("o").values[0];
    const auto& k = p.inputs.at("k").values;
    const auto& v = p.inputs.at("v").values;
    const double t[] = {f32(std::tanh(q * k[0] / kCap)), f32(std::tanh(q * k[1] / kCap))};
    const double e[] = {std::exp(kCap * t[0]), std::exp(kCap * t[1])};
    const double of_logit = g * (v[0] - v[1]) * e[0] * e[1] / ((e[0] + e[1]) * (e[0] + e[1]));
    return Arrays{{"gradient.q", {{1, 1}, {of_logit * (k[0] * derivative(t[0]) - k[1] * derivative(t[1]))}}}};
  };
}

TEST(Panel, TheDerivativeOfACapMayBeTakenOfItsResult) {
  const std::string query =
      "attest:attention.scaled_dot_product:f32;n=1;s=2;d=1;m=1;scale=1;softcap=0.75;causal=false;exact=f32";
  const auto automatic = softcap_gradient([](double tanh) { return f32(1 - f32(tanh * tanh)); });
  const auto missing = softcap_gradient([](double) { return 1.0; });
  for (const char* size : {"", ";magnitude.q=4"}) {
    EXPECT_LE(worst_gradient(query + size + ";seed=1", automatic, 100), 1) << size;
    EXPECT_GT(worst_gradient(query + size + ";seed=1", missing, 100), 1) << size;
  }
}

/// The mask of one query that stands at the last key; distances are from it.
Compute span_mask(double (*of)(double z, double x, double ramp)) {
  return [of](const Problem& p) {
    const Index s = p.sizes.at("s");
    const double z = p.inputs.at("z").values[0];
    return Arrays{{"mask", filled({1, s}, [&](Index, Index j) {
                     const auto x = static_cast<double>(s - 1 - j);
                     return x == 0 ? 0.0 : std::clamp(of(z, x, 3), 0.0, 1.0);
                   })}};
  };
}

TEST(Panel, ARampMayBeTakenFromItsEnd) {
  const std::string query = "attest:adaptive.span_attention:f32;n=1;s=6;d=1;m=1;ramp=3;exact=f32";
  const auto authors = span_mask([](double z, double x, double ramp) { return f32(f32(f32(z - x) / ramp) + 1); });
  const auto as_written = span_mask([](double z, double x, double ramp) { return f32(f32(f32(ramp + z) - x) / ramp); });
  const auto from_its_begin = span_mask([](double z, double x, double ramp) { return f32(f32(z - x) / ramp); });
  for (const char* size : {"", ";magnitude.z=9.5367431640625e-07"}) {
    for (const auto& kernel : {authors, as_written}) expect_right(query + size + ";seed=1", kernel, 50);
    expect_wrong(query + size + ";seed=1", from_its_begin, 50);
  }
}

/// By sigma2, which is added to the square of each width: N' = N (d^2 / V - 1) / (2 V).
TEST(Panel, ThePointOfADensityHasADerivativeByItsVariance) {
  const auto by_variance = [](bool none_at_points) {
    return [none_at_points](const Problem& p, const Arrays& cotangents) {
      const auto& [mu, sigma2, c, s] = std::tie(p.inputs.at("mu").values, p.inputs.at("sigma2").values,
                                                p.inputs.at("c").values, p.inputs.at("s").values);
      const auto& g = cotangents.at("r").values;
      Array gradient{{static_cast<Index>(mu.size())}, std::vector<double>(mu.size())};
      for (std::size_t i = 0; i < mu.size(); ++i)
        for (std::size_t k = 0; k < c.size(); ++k) {
          const double V = sigma2[i] + s[k] * s[k], d = mu[i] - c[k];
          const double N = std::exp(-d * d / (2 * V)) / std::sqrt(2 * 3.141592653589793 * V);
          if (sigma2[i] > 0 || !none_at_points)
            gradient.values[i] += g[i * c.size() + k] * N * (d * d / V - 1) / (2 * V);
        }
      return Arrays{{"gradient.sigma2", gradient}};
    };
  };
  const std::string query = "attest:infty.expectation:f32;n=5;b=4;flag=point_density;seed=1";
  EXPECT_LE(worst_gradient(query, by_variance(false), 8), 1);
  EXPECT_GT(worst_gradient(query, by_variance(true), 8), 1);
}

/// Of c = p_a - p_b, where a and b are the largest words and the last ones of those that are as large; `second` counts
/// them from the largest.
Derive confidence_gradient(std::size_t second) {
  return [second](const Problem& p, const Arrays& cotangents) {
    const Array& logits = p.inputs.at("logits");
    const auto words = static_cast<std::size_t>(logits.shape[1]);
    Array gradient{logits.shape, std::vector<double>(logits.values.size())};
    for (std::size_t first = 0; first < logits.values.size(); first += words) {
      const double* l = &logits.values[first];
      std::vector<double> share(words);
      double sum = 0;
      for (std::size_t t = 0; t < words; ++t) sum += share[t] = std::exp(l[t]);
      std::vector<std::size_t> order(words);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.rbegin(), order.rend(), [&](std::size_t a, std::size_t b) { return l[a] < l[b]; });
      const std::size_t a = order[0], b = order[second];
      const double g = cotangents.at("c").values[first / words];
      for (std::size_t t = 0; t < words; ++t)
        gradient.values[first + t] =
            g / sum * (share[a] * ((t == a) - share[t] / sum) - share[b] * ((t == b) - share[t] / sum));
    }
    return Arrays{{"gradient.logits", gradient}};
  };
}

TEST(Panel, TheLargestOfEqualProbabilitiesIsAnyOfThem) {
  for (const char* flag : {"tie", "random"}) {
    const std::string query = "attest:adaptive.confidence:f32;r=6;s=5;d=1;flag=" + std::string(flag) + ";seed=1";
    EXPECT_LE(worst_gradient(query, confidence_gradient(1), 8), 1) << flag;
    EXPECT_GT(worst_gradient(query, confidence_gradient(2), 8), 1) << flag;
  }
}

// --- ways of taking a step, in every equation ------------------------------------------------------------------------

enum class Way {
  base_2,        // e^(x - m) = 2^(y - n) with y = x log2 e and n = m log2 e, both rounded
  base_2_fused,  // the same with x log2 e contracted into the subtraction
  rough_exp,     // exponentials two units in the last place off
  reciprocal,    // products by reciprocals and reciprocal roots, each two roundings off
  off_maximum,   // a number beside the largest logit is subtracted
  flushed,       // no subnormal numbers
  added_angles,  // sines and cosines of sums
};
constexpr std::array kWays{std::pair{Way::base_2, "base_2"},
                           std::pair{Way::base_2_fused, "base_2_fused"},
                           std::pair{Way::rough_exp, "rough_exp"},
                           std::pair{Way::reciprocal, "reciprocal"},
                           std::pair{Way::off_maximum, "off_maximum"},
                           std::pair{Way::flushed, "flushed"},
                           std::pair{Way::added_angles, "added_angles"}};

/// An emulated binary32 kernel that takes steps in one of these ways.
class Reformulated : public reference::Emulation {
public:
  using Handle = reference::Handle;

  Reformulated(const reference::Kernel& kernel, Way way) : Emulation(kernel), way_(way) {}

  Handle difference(Handle a, Handle b) override {
    const double x = at(a), m = at(b);
    const Handle r = settled(Emulation::difference(a, b));
    if (differences_.size() <= r) differences_.resize(r + 1);
    differences_[r] = {at(r), x, m};
    return r;
  }
  Handle exp(Handle a) override {
    const double x = at(a);
    // A handle that was used again may hold another number; if it is the same number, that is as good.
    const bool known = a < differences_.size() && differences_[a].result == x && std::isfinite(x);
    if (x == 0) return result(1);
    const double first = known ? differences_[a].x : x, m = known ? differences_[a].m : 0, c = f32(1.4426950408889634);
    switch (way_) {
      case Way::base_2: return result(f32(std::exp2(f32(f32(first * c) - f32(m * c)))));
      case Way::base_2_fused: return result(f32(std::exp2(f32(first * c - f32(m * c)))));
      case Way::rough_exp: return result(f32(std::exp(x) * (1 + (flip_ = -flip_) * 0x1p-22)));
      default: return settled(Emulation::exp(a));
    }
  }
  Handle quotient(Handle a, Handle b) override {
    if (way_ != Way::reciprocal || std::abs(at(b)) > 0x1p120 || std::abs(at(b)) < 0x1p-120)
      return settled(Emulation::quotient(a, b));
    return result(f32(at(a) * f32(1 / at(b) * (1 + (flip_ = -flip_) * 0x1p-24))));
  }
  Handle sqrt(Handle a) override {
    const double x = at(a);
    if (way_ != Way::reciprocal || !(x > 0x1p-100) || std::isinf(x)) return settled(Emulation::sqrt(a));
    return result(f32(x * f32(1 / std::sqrt(x) * (1 + (flip_ = -flip_) * 0x1p-24))));
  }
  Handle pivot(Handle a) override {
    const double x = at(a);
    return way_ == Way::off_maximum && std::isfinite(x) ? result(f32(x + 1.7)) : Emulation::pivot(a);
  }
  Handle sin(Handle a) override {
    if (way_ != Way::added_angles) return Emulation::sin(a);
    const auto [h, l] = parts(at(a));
    return result(f32(f32(sine(h) * cosine(l)) + f32(cosine(h) * sine(l))));
  }
  Handle cos(Handle a) override {
    if (way_ != Way::added_angles) return Emulation::cos(a);
    const auto [h, l] = parts(at(a));
    return result(f32(f32(cosine(h) * cosine(l)) - f32(sine(h) * sine(l))));
  }
  Handle product(Handle a, Handle b) override { return settled(Emulation::product(a, b)); }
  Handle sum_of(Handle a, Handle b) override { return settled(Emulation::sum_of(a, b)); }
  Handle sum(const reference::Number* terms, Index n) override { return settled(Emulation::sum(terms, n)); }
  Handle dot(const reference::Row& a, const reference::Row& b) override { return settled(Emulation::dot(a, b)); }

private:
  struct Difference {
    double result = std::nan(""), x = 0, m = 0;
  };

  static std::pair<double, double> parts(double angle) {
    const double whole = std::floor(angle / 8) * 8;
    return {whole, angle - whole};
  }
  static double sine(double x) { return f32(std::sin(x)); }
  static double cosine(double x) { return f32(std::cos(x)); }
  Handle result(double x) {
    return settled(made([&](double& r) { r = x; }));
  }
  Handle settled(Handle r) {
    if (r && way_ == Way::flushed && std::abs(at(r)) < 0x1p-126) at(r) = std::copysign(0.0, at(r));
    return r;
  }

  Way way_;
  double flip_ = 1;
  std::vector<Difference> differences_;
};

class EveryWay : public testing::TestWithParam<std::string> {};

void judge_ways(const golden::GoldenCase& c, const golden::Profile& profile) {
  if (!within_range(c.problem, profile)) return;
  for (const auto& form : c.problem.spec->forms) {
    if (!golden::is_modelled(form, c.problem)) continue;
    for (const auto& [way, name] : kWays) {
      // Weights of exact families are 0 and 1 because the largest exponent is 0.
      if (way == Way::off_maximum && (!exact_outputs(c.name).empty() || !form.maximum.empty())) continue;
      Reformulated kernel(kernel_of(profile), way);
      Arrays got;
      for (auto& [output, values] : reference::outputs_of(kernel, c.problem, form.name))
        got[output] = {shape_of(*c.problem.spec->output(output), c.problem.sizes), std::move(values)};
      const auto result = compare(c.problem, c.certified, stored(c.problem, got, profile), profile);
      EXPECT_EQ(result.failed, 0) << golden::query(c.name, profile.name) << " form " << form.name << ", " << name
                                  << ": " << (result.first ? result.first->text() : "");
    }
  }
}

TEST_P(EveryWay, IsAccepted) {
  const Spec& spec = find_spec(GetParam());
  const auto cases = golden::load_golden(spec, std::string(ATTEST_PROJECT_DIR) + "/golden");
  for (const char* name : {"f32", "tf32", "bf16", "f16"}) {
    const auto& profile = golden::profile(name);
    for (const auto& c : select(spec, "", {}, profile, cases).cases) judge_ways(c, profile);
    // Inputs of other sizes: one of them larger, all of them smaller.
    if (profile.storage != DType::f32) continue;
    for (const double factor : {0x1p-20, 0x1p5, 0x1p12})
      for (const auto& input : spec.inputs) {
        if (input.element != attest::Element::real || cases.empty()) continue;
        if (factor > 0x1p5 && spec.parameter("feature_map")) continue;  // e^-4096 / e^-4096
        golden::Case c = cases.front().name;
        c.exact = "f32", c.magnitudes[input.name] = factor;
        if (auto certified = certified_now(c, profile, false))
          judge_ways(judged_by(std::move(*certified), profile), profile);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Panel, EveryWay, testing::ValuesIn(equation_ids()), name_of_equation);

}  // namespace
}  // namespace attest::judge

// SPDX-License-Identifier: MIT
// attention.scaled_dot_product of the emulated CUDA plugin at sizes beyond a tile, against the equation as a plain loop
// in double.
#include "sizes.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

using namespace attest::sizes;

namespace {

constexpr const char* kEquation = "attention.scaled_dot_product";

struct Problem {
  std::vector<Index> queries, keys;  // of each sequence
  bool packed = false;               // thd; otherwise all sequences have the first one's lengths
  Index heads = 1, groups = 1, d = 8, m = 8;
  bool causal = false, masked = false;
  Layout layout{};
  unsigned seed = 1;

  std::string text() const {
    std::ostringstream out;
    out << (packed ? "thd" : "bhnd");
    for (std::size_t i = 0; i < queries.size(); ++i) out << ' ' << queries[i] << 'x' << keys[i];
    out << "; d = " << d << "; m = " << m << (causal ? "; causal" : "") << (masked ? "; masked" : "") << "; " << heads
        << " heads, " << groups << " groups; seed " << seed;
    return out.str();
  }
  static std::vector<Index> begins(const std::vector<Index>& lengths) {
    std::vector<Index> all{0};
    for (const Index n : lengths) all.push_back(all.back() + n);
    return all;
  }
  std::vector<Index> shape(const std::vector<Index>& lengths, Index sharers, Index width) const {
    if (packed) return {begins(lengths).back(), sharers, width};
    return {static_cast<Index>(lengths.size()), sharers, lengths[0], width};
  }
  double scale() const { return 1 / std::sqrt(static_cast<double>(d)); }
};

Tensors inputs_of(const Problem& p, const Format& format, bool gradient) {
  std::mt19937 engine(p.seed);
  Tensors all;
  const auto add = [&](const char* name, const std::vector<Index>& lengths, Index sharers, Index width) {
    draw(all.emplace(name, Tensor(name, p.shape(lengths, sharers, width), format.dtype, p.layout)).first->second,
         engine, false);
  };
  add("q", p.queries, p.heads, p.d);
  add("k", p.keys, p.groups, p.d);
  add("v", p.keys, p.groups, p.m);
  if (gradient) add("cotangent.o", p.queries, p.heads, p.m);
  if (p.masked) {
    const Tensor& mask =
        all.emplace("mask", Tensor("mask", {static_cast<Index>(p.queries.size()), p.heads, p.queries[0], p.keys[0]},
                                   {kDLUInt, 8, 1}))
            .first->second;
    for (Index b = 0; b < mask.shape[0]; ++b)
      for (Index h = 0; h < p.heads; ++h)
        for (Index i = 0; i < p.queries[0]; ++i)  // the third query has no visible key
          for (Index j = 0; j < p.keys[0]; ++j) *mask.at({b, h, i, j}) = std::byte(i != 2 && engine() % 3 != 0);
  }
  return all;
}

Tensors outputs_of(const Problem& p, const Format& format, bool gradient) {
  Tensors all;
  const auto add = [&](const char* name, const std::vector<Index>& lengths, Index width) {
    all.emplace(name, Tensor(name, p.shape(lengths, p.heads, width), format.dtype, p.layout));
  };
  if (!gradient) {
    add("o", p.queries, p.m);
    return all;
  }
  add("gradient.q", p.queries, p.d);
  add("gradient.k", p.keys, p.d);
  add("gradient.v", p.keys, p.m);
  return all;
}

Tensors evaluate(const Problem& p, const Format& format, const std::string& form, bool gradient, Tensors inputs) {
  Tensors outputs = outputs_of(p, format, gradient);
  const std::vector<attest_parameter> parameters{{"scale", 1, p.scale(), 0, nullptr},
                                                 {"causal", 1, 0, p.causal, nullptr},
                                                 {"empty_row", 1, 0, 0, "zero"},
                                                 {"block", 0, 0, 8, nullptr}};
  std::vector<Offsets> packed;
  if (p.packed) packed = {{"offsets.n", Problem::begins(p.queries)}, {"offsets.s", Problem::begins(p.keys)}};
  EXPECT_EQ(call(kernel_of(kEquation, format, form, gradient ? "gradient" : "value", p.packed), inputs, outputs,
                 gradient ? "gradient.q" : "o", parameters, packed),
            "")
      << p.text();
  return outputs;
}

/// A sum, and the sum of the magnitudes of its terms.
struct Sum {
  double value = 0, size = 0;
  void add(double term, double magnitude) { value += term, size += magnitude; }
};

/// One head of one sequence.
class Judge {
public:
  Judge(const Problem& p, const Format& format, const Tensors& in, const Tensors& out, Index sequence, Index head)
      : p_(p),
        format_(format),
        in_(in),
        out_(out),
        sequence_(sequence),
        head_(head),
        n_(p.queries[static_cast<std::size_t>(sequence)]),
        s_(p.keys[static_cast<std::size_t>(sequence)]) {
    weigh();
  }

  void value() {
    for (Index i = 0; i < n_; ++i)
      for (Index x = 0; x < p_.m; ++x) {
        Sum o;
        for (Index j = 0; j < s_; ++j) o.add(a(i, j) * at("v", j, x), a(i, j) * std::abs(at("v", j, x)));
        compare("o", i, x, o, 1);
      }
  }

  /// grad_l_ij = a_ij (grad_a_ij - delta_i)
  void gradient() {
    std::vector<Sum> slopes(static_cast<std::size_t>(n_ * s_));
    for (Index i = 0; i < n_; ++i) {
      std::vector<Sum> by_weight(static_cast<std::size_t>(s_));
      Sum delta;
      for (Index j = 0; j < s_; ++j) {
        Sum& g = by_weight[static_cast<std::size_t>(j)];
        for (Index x = 0; x < p_.m; ++x)
          g.add(at("cotangent.o", i, x) * at("v", j, x), std::abs(at("cotangent.o", i, x) * at("v", j, x)));
        delta.add(a(i, j) * g.value, a(i, j) * g.size);
      }
      for (Index j = 0; j < s_; ++j) {
        const Sum& g = by_weight[static_cast<std::size_t>(j)];
        slopes[static_cast<std::size_t>(i * s_ + j)] = {a(i, j) * (g.value - delta.value),
                                                        a(i, j) * (g.size + delta.size)};
      }
    }
    const auto slope = [&](Index i, Index j) { return slopes[static_cast<std::size_t>(i * s_ + j)]; };
    for (Index x = 0; x < p_.d; ++x) {
      for (Index i = 0; i < n_; ++i) {
        Sum q;
        for (Index j = 0; j < s_; ++j)
          q.add(slope(i, j).value * at("k", j, x), slope(i, j).size * std::abs(at("k", j, x)));
        compare("gradient.q", i, x, q, p_.scale());
      }
      for (Index j = 0; j < s_; ++j) {
        Sum k;
        for (Index i = 0; i < n_; ++i)
          k.add(slope(i, j).value * at("q", i, x), slope(i, j).size * std::abs(at("q", i, x)));
        compare("gradient.k", j, x, k, p_.scale());
      }
    }
    for (Index j = 0; j < s_; ++j)
      for (Index x = 0; x < p_.m; ++x) {
        Sum v;
        for (Index i = 0; i < n_; ++i)
          v.add(a(i, j) * at("cotangent.o", i, x), a(i, j) * std::abs(at("cotangent.o", i, x)));
        compare("gradient.v", j, x, v, 1);
      }
  }

  double worst() const { return worst_; }
  const std::string& where() const { return where_; }

private:
  double at(const char* name, Index token, Index column) const {
    const Tensor& tensor = in_.at(name);
    return read(tensor, head_ / (p_.heads / tensor.shape[1]), token, column,
                std::string_view(name) == "q" || std::string_view(name) == "cotangent.o");
  }
  double read(const Tensor& tensor, Index head, Index token, Index column, bool of_queries) const {
    if (!p_.packed) return tensor.get({sequence_, head, token, column});
    return tensor.get({Problem::begins(of_queries ? p_.queries : p_.keys)[static_cast<std::size_t>(sequence_)] + token,
                       head, column});
  }
  double a(Index i, Index j) const { return weights_[static_cast<std::size_t>(i * s_ + j)]; }

  void weigh() {
    weights_.assign(static_cast<std::size_t>(n_ * s_), 0);
    double largest = 0;  // sum of magnitudes of a logit
    for (Index i = 0; i < n_; ++i) {
      double* row = weights_.data() + i * s_;
      double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
      for (Index j = 0; j < s_; ++j) {
        Sum l;
        for (Index x = 0; x < p_.d; ++x)
          l.add(p_.scale() * at("q", i, x) * at("k", j, x), p_.scale() * std::abs(at("q", i, x) * at("k", j, x)));
        const bool seen = (!p_.causal || j <= i + s_ - n_) &&
                          (!p_.masked || *in_.at("mask").at({sequence_, head_, i, j}) != std::byte{0});
        row[j] = seen ? l.value : -std::numeric_limits<double>::infinity();
        maximum = std::max(maximum, row[j]);
        largest = std::max(largest, l.size);
      }
      for (Index j = 0; j < s_; ++j)
        sum += row[j] = maximum == -std::numeric_limits<double>::infinity() ? 0 : std::exp(row[j] - maximum);
      for (Index j = 0; j < s_ && sum > 0; ++j) row[j] /= sum;
    }
    // A logit is a sum of d products, its exponential has 2 ulp and is scaled once for every tile of keys, weights and
    // gradients of logits are rounded as factors; sums go over keys, queries or columns. Numerator and denominator both
    // have that.
    const double steps = static_cast<double>(std::max(n_, s_) + s_ / 64 + p_.m + 16);
    relative_ = 2 * (2 * format_.storage + 2 * gamma(static_cast<double>(p_.d) + 4, format_.sum * kUnit) * largest +
                     gamma(steps, format_.sum * kUnit));
  }

  void compare(const char* name, Index token, Index column, const Sum& due, double factor) {
    const double got = read(out_.at(name), head_, token, column,
                            std::string_view(name) == "gradient.q" || std::string_view(name) == "o");
    const double error = factor * (relative_ * due.size + format_.storage * std::abs(due.value)),
                 off = std::abs(got - factor * due.value);
    const double ratio = off == 0 ? 0 : std::isnan(off) ? std::numeric_limits<double>::infinity() : off / error;
    if (ratio <= worst_) return;
    worst_ = ratio;
    std::ostringstream out;
    out << name << "(sequence " << sequence_ << ", head " << head_ << ", " << token << ", " << column << "): got "
        << got << ", due " << factor * due.value << " +- " << error;
    where_ = out.str();
  }

  const Problem& p_;
  const Format& format_;
  const Tensors &in_, &out_;
  Index sequence_, head_, n_, s_;
  std::vector<double> weights_;
  double relative_ = 0, worst_ = 0;
  std::string where_;
};

double judged(const Problem& p, const Format& format, const Tensors& in, const Tensors& out, bool gradient) {
  double worst = 0;
  for (Index sequence = 0; sequence < static_cast<Index>(p.queries.size()); ++sequence)
    for (Index head = 0; head < p.heads; ++head) {
      Judge judge(p, format, in, out, sequence, head);
      gradient ? judge.gradient() : judge.value();
      EXPECT_LE(judge.worst(), 1) << format.name << "; " << p.text() << ": " << judge.where();
      worst = std::max(worst, judge.worst());
    }
  return worst;
}

struct Configuration {
  const Format* format;
  std::string form;
  bool gradient;
};
void PrintTo(const Configuration& configuration, std::ostream* out) {
  *out << configuration.format->name << " " << configuration.form << (configuration.gradient ? " gradient" : " value");
}

class Sizes : public testing::TestWithParam<Configuration> {
protected:
  bool gradient() const { return GetParam().gradient; }
  Tensors inputs(const Problem& p) const { return inputs_of(p, *GetParam().format, gradient()); }
  Tensors run(const Problem& p, const Tensors& in) const {
    return evaluate(p, *GetParam().format, GetParam().form, gradient(), in);
  }
  double check(const Problem& p) const {
    const Tensors in = inputs(p);
    return judged(p, *GetParam().format, in, run(p, in), gradient());
  }
};

TEST_P(Sizes, EveryLength) {
  double worst = 0;
  for (const bool causal : {false, true})
    for (const auto& [n, s] : std::vector<std::pair<Index, Index>>{
             {1, 1}, {16, 16}, {63, 64}, {64, 64}, {64, 65}, {65, 128}, {128, 128}, {70, 75}, {3, 200}, {130, 193}})
      worst = std::max(worst, check({.queries = {n}, .keys = {s}, .d = 5, .m = 3, .causal = causal}));
  worst = std::max(worst, check({.queries = {130}, .keys = {66}, .d = 5, .m = 3}));
  EXPECT_GT(worst, 0.001)
      << "sums of 200 terms are rounded: an allowance that is never touched was not compared with anything";
}

TEST_P(Sizes, EveryWidthWithEveryWidth) {
  std::size_t turn = 0;
  for (const Index d : {1, 8, 64, 65, 72, 73, 128, 137, 200, 256})
    for (const Index m : {1, 8, 64, 65, 72, 73, 128, 137, 200, 256})
      if (++turn % 3 == 0) check({.queries = {5}, .keys = {19}, .d = d, .m = m, .causal = turn % 2 == 0});
}

TEST_P(Sizes, LengthsBeyondATileWithWidthsBeyondATile) {
  check({.queries = {66}, .keys = {130}, .d = 73, .m = 137, .causal = true});
  check({.queries = {65}, .keys = {66}, .d = 128, .m = 128});
}

TEST_P(Sizes, AMaskThatIsWiderThanATile) {
  check({.queries = {70}, .keys = {140}, .d = 9, .m = 5, .masked = true});
  check({.queries = {66, 66},
         .keys = {81, 81},
         .heads = 2,
         .groups = 2,
         .d = 9,
         .m = 66,
         .causal = true,
         .masked = true});
}

TEST_P(Sizes, HeadsOfABatchInGroups) {
  // A gradient kernel has as many groups as heads.
  check({.queries = {66, 66},
         .keys = {70, 70},
         .heads = 4,
         .groups = gradient() ? 4 : 2,
         .d = 9,
         .m = 5,
         .causal = true});
  check({.queries = {5, 5, 5}, .keys = {33, 33, 33}, .heads = 3, .groups = gradient() ? 3 : 1, .d = 5, .m = 66});
}

TEST_P(Sizes, PackedSequencesOfUnequalLengths) {
  const std::vector<Index> lengths{5, 0, 64, 1, 0, 130, 63, 0};
  check({.queries = lengths, .keys = lengths, .packed = true, .heads = 2, .groups = 2, .d = 9, .m = 5, .causal = true});
  check({.queries = {3, 0, 65, 1}, .keys = {70, 2, 5, 1}, .packed = true, .d = 9, .m = 73});
}

TEST_P(Sizes, WhereTensorsLieChangesNoBit) {
  const Problem dense{.queries = {70}, .keys = {70}, .heads = 2, .groups = 2, .d = 70, .m = 22, .causal = true};
  const Tensors in = inputs(dense), out = run(dense, in);
  for (const Layout layout : {Layout{.padding = 2}, Layout{.padding = 3}, Layout{.column = 2}, Layout{.misaligned = 1},
                              Layout{.padding = 5, .misaligned = 3}}) {
    Problem other = dense;
    other.layout = layout;
    const Tensors there = run(other, inputs(other));
    for (const auto& [name, tensor] : out)
      for (Index head = 0; head < 2; ++head)
        for (Index i = 0; i < 70; ++i)
          for (Index x = 0; x < tensor.shape.back(); ++x)
            ASSERT_EQ(tensor.get({0, head, i, x}), there.at(name).get({0, head, i, x}))
                << name << ", padding " << layout.padding << ", column " << layout.column;
  }
}

std::vector<Configuration> configurations() {
  std::vector<Configuration> all;
  for (const Format& format : kFormats) {
    for (const char* form : {"online_blocked", "per_query"}) all.push_back({&format, form, false});
    all.push_back({&format, "per_query", true});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(SoftmaxAttention, Sizes, testing::ValuesIn(configurations()), [](const auto& configuration) {
  return std::string(configuration.param.format->name) + "_" + configuration.param.form +
         (configuration.param.gradient ? "_gradient" : "_value");
});

/// The allowance is not too wide: one key of two hundred that weighs a little more is seen.
TEST(AttentionAllowance, SeesAKeyThatIsOff) {
  const Problem p{.queries = {3}, .keys = {200}, .d = 8, .m = 3};
  Tensors in = inputs_of(p, kFormats[0], false);
  const Tensors out = evaluate(p, kFormats[0], "online_blocked", false, in);
  Judge right(p, kFormats[0], in, out, 0, 0);
  right.value();
  EXPECT_LE(right.worst(), 1) << right.where();
  in.at("k").set({0, 0, 150, 0}, in.at("k").get({0, 0, 150, 0}) + 1.0 / 64);
  Judge wrong(p, kFormats[0], in, out, 0, 0);
  wrong.value();
  EXPECT_GT(wrong.worst(), 1);
}

}  // namespace

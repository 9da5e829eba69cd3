// SPDX-License-Identifier: MIT
// linear.causal of the emulated CUDA plugin at sizes beyond a tile, against the equation as a plain loop in double.
#include "sizes.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

using namespace attest::sizes;

namespace {

// ---- Values with bounds on the errors of a kernel ----

/// A number as a kernel computes it: within `error` of `value`; `size` is at least the sum of the magnitudes of all
/// that was added up to it, errors included. Sums and products are those of the equation, exact; rounded() adds the
/// rounding errors of a kernel.
struct Measured {
  double value = 0, error = 0, size = 0;
  Measured() = default;
  Measured(double x) : value(x), size(std::abs(x)) {}
  Measured(double x, double e, double s) : value(x), error(e), size(s) {}
};
Measured operator*(const Measured& a, const Measured& b) {
  return {a.value * b.value, a.error * std::abs(b.value) + std::abs(a.value) * b.error + a.error * b.error,
          a.size * b.size};
}
Measured& operator+=(Measured& a, const Measured& b) {
  a.value += b.value, a.error += b.error, a.size += b.size;
  return a;
}
/// Each term of the sum with a factor of at most 1 + relative: (1 + relative) * size bounds the computed value as well.
Measured rounded(const Measured& a, double relative) {
  const double error = a.error + relative * a.size;
  return {a.value, error, std::abs(a.value) + error};
}

struct Lengths {
  Index n, width;  // tokens and terms of a dot product
};
/// The relative error of a sum of products of three: no form has more than 3 n + 2 width + 8 additions in a row (scores
/// of a token, their sum over tokens, totals of chunks, their prefix sums, the product with the state), nor more than
/// four operands that are rounded to the format.
double relative(const Format& format, const Lengths& lengths) {
  const double steps = 3.0 * static_cast<double>(lengths.n) + 2.0 * static_cast<double>(lengths.width) + 8;
  return std::pow(1 + format.storage, 4) * (1 + gamma(steps, format.sum * kUnit)) - 1;
}
/// a / b, rounded once.
Measured divided(const Measured& a, const Measured& b) {
  const double value = a.value / b.value, smallest = std::abs(b.value) - b.error;
  if (!(smallest > 0)) throw std::logic_error("the sign of a denominator is not certain: draw the case otherwise");
  return rounded({value, (a.error + std::abs(value) * b.error) / smallest,
                  std::abs(value) + (a.error + std::abs(value) * b.error) / smallest},
                 kUnit);
}
Measured stored(const Measured& a, const Format& format) {
  return rounded({a.value, a.error, std::abs(a.value) + a.error}, format.storage);
}

// ---- Problems ----

struct Problem {
  std::vector<Index> lengths;  // of the sequences
  bool packed = false;         // thd; otherwise all have one length
  Index heads = 1, groups = 1, c = 8, m = 8, chunk = 64;
  bool states = true;
  double eps = 0.125;
  Layout layout{};
  unsigned seed = 1;

  std::string text() const {
    std::ostringstream out;
    out << (packed ? "thd" : "bhnd") << " n =";
    for (const Index n : lengths) out << ' ' << n;
    out << "; c = " << c << "; m = " << m << "; chunk = " << chunk << "; " << heads << " heads, " << groups
        << " groups; seed " << seed;
    return out.str();
  }
  Index tokens() const {
    Index total = 0;
    for (const Index n : lengths) total += n;
    return total;
  }
  std::vector<Index> offsets() const {
    std::vector<Index> all{0};
    for (const Index n : lengths) all.push_back(all.back() + n);
    return all;
  }
  std::vector<Index> of_tokens(Index sharers, Index width) const {
    if (packed) return {tokens(), sharers, width};
    return {static_cast<Index>(lengths.size()), sharers, lengths[0], width};
  }
};

double element(const Problem& p, const Tensor& tensor, Index sequence, Index head, Index token, Index column) {
  return p.packed ? tensor.get({p.offsets()[static_cast<std::size_t>(sequence)] + token, head, column})
                  : tensor.get({sequence, head, token, column});
}

Tensors inputs_of(const Problem& p, const Format& format, bool gradient) {
  std::mt19937 engine(p.seed);
  const Index sequences = static_cast<Index>(p.lengths.size());
  Tensors all;
  const auto add = [&](const char* name, std::vector<Index> shape, DLDataType dtype, bool positive) {
    const auto [at, _] = all.emplace(name, Tensor(name, std::move(shape), dtype, p.layout));
    draw(at->second, engine, positive);
  };
  add("phi_q", p.of_tokens(p.heads, p.c), format.dtype, true);
  add("phi_k", p.of_tokens(p.groups, p.c), format.dtype, true);
  add("v", p.of_tokens(p.groups, p.m), format.dtype, false);
  if (p.states) {
    add("S", {sequences, p.heads, p.c, p.m}, kFloat, false);
    add("Z", {sequences, p.heads, p.c}, kFloat, true);
  }
  if (gradient) {
    add("cotangent.o", p.of_tokens(p.heads, p.m), format.dtype, false);
    if (p.states) {
      add("cotangent.S", {sequences, p.heads, p.c, p.m}, kFloat, false);
      add("cotangent.Z", {sequences, p.heads, p.c}, kFloat, false);
    }
  }
  return all;
}

Tensors outputs_of(const Problem& p, const Format& format, bool gradient) {
  const Index sequences = static_cast<Index>(p.lengths.size());
  const std::string prefix = gradient ? "gradient." : "";
  Tensors all;
  const auto add = [&](const std::string& name, std::vector<Index> shape, DLDataType dtype) {
    all.emplace(name, Tensor(name, std::move(shape), dtype, p.layout));
  };
  if (gradient) {
    add("gradient.phi_q", p.of_tokens(p.heads, p.c), format.dtype);
    add("gradient.phi_k", p.of_tokens(p.heads, p.c), format.dtype);
    add("gradient.v", p.of_tokens(p.heads, p.m), format.dtype);
  } else {
    add("o", p.of_tokens(p.heads, p.m), format.dtype);
  }
  if (p.states) {
    add(prefix + "S", {sequences, p.heads, p.c, p.m}, kFloat);
    add(prefix + "Z", {sequences, p.heads, p.c}, kFloat);
  }
  return all;
}

// ---- Calls ----

std::string call(const attest_kernel& kernel, const Problem& p, Tensors& inputs, Tensors& outputs,
                 std::size_t missing = 0) {
  const std::vector<attest_parameter> parameters{{"chunk", 1, 0, p.chunk, nullptr},
                                                 {"eps", 1, p.eps, 0, nullptr},
                                                 {"zero_denominator", 1, 0, 0, "zero"},
                                                 {"features", 1, 0, 0, "given"}};
  std::vector<Offsets> packed;
  if (p.packed) packed.push_back({"offsets.n", p.offsets()});
  return call(kernel, inputs, outputs, outputs.count("o") ? "o" : "gradient.phi_q", parameters, packed, missing);
}

Tensors evaluate(const Format& format, const std::string& form, bool gradient, const Problem& p, Tensors inputs) {
  Tensors outputs = outputs_of(p, format, gradient);
  const std::string said =
      call(kernel_of("linear.causal", format, form, gradient ? "gradient" : "value", p.packed), p, inputs, outputs);
  EXPECT_EQ(said, "") << p.text();
  return outputs;
}

// ---- The equation ----

using Matrix = std::vector<std::vector<Measured>>;

/// The error of one head of one sequence over its allowance, the largest of all elements; infinite for NaN.
class Judge {
public:
  Judge(const Problem& p, const Format& format, const Tensors& in, const Tensors& out, Index sequence, Index head)
      : p_(p),
        format_(format),
        in_(in),
        out_(out),
        sequence_(sequence),
        head_(head),
        n_(p.lengths[static_cast<std::size_t>(sequence)]),
        phi_q_(rows("phi_q")),
        phi_k_(rows("phi_k")),
        v_(rows("v")) {}

  void value() {
    Matrix state = initial("S", "Z");
    const double sum = relative(format_, {n_, p_.c});
    for (Index i = 0; i < n_; ++i) {
      add_token(state, i);
      const Measured denominator = denominator_of(state, i, sum);
      for (Index x = 0; x < p_.m; ++x)
        compare("o", i, x, stored(divided(rounded(dot(state, i, x), sum), denominator), format_));
    }
    compare_state("S", "Z", state, sum);
  }

  void gradient() {
    const double forward = relative(format_, {n_, p_.c}), back = relative(format_, {n_, p_.m + 1});
    const Matrix grad_o = rows("cotangent.o");
    const std::size_t m = at(p_.m);
    // G = grad_o / d and e = -(grad_o . o) / d, then grad_phi_q, from the states before.
    Matrix state = initial("S", "Z"), G(at(n_), std::vector<Measured>(m + 1));
    for (Index i = 0; i < n_; ++i) {
      add_token(state, i);
      auto& row = G[at(i)];
      const Measured denominator = denominator_of(state, i, forward);
      Measured along;
      for (Index x = 0; x < p_.m; ++x) {
        const Measured given = grad_o[at(i)][at(x)];
        row[at(x)] = divided(given, denominator);
        along += given * divided(rounded(dot(state, i, x), forward), denominator);
      }
      row[m] = divided(rounded(along, gamma(static_cast<double>(p_.m) + 8, kUnit)), denominator);
      row[m].value = -row[m].value;
      for (Index a = 0; a < p_.c; ++a) {
        Measured sum;
        for (std::size_t x = 0; x <= m; ++x) sum += row[x] * state[at(a)][x];
        compare("gradient.phi_q", i, a, stored(rounded(sum, back), format_));
      }
    }
    // From the end: the gradients of a token's keys and values sum over all later outputs.
    Matrix later = initial("cotangent.S", "cotangent.Z");
    for (Index i = n_; i-- > 0;) {
      const auto& row = G[at(i)];
      for (Index a = 0; a < p_.c; ++a)
        for (std::size_t x = 0; x <= m; ++x) later[at(a)][x] += phi_q_[at(i)][at(a)] * row[x];
      for (Index a = 0; a < p_.c; ++a) {
        Measured sum = later[at(a)][m];
        for (Index x = 0; x < p_.m; ++x) sum += v_[at(i)][at(x)] * later[at(a)][at(x)];
        compare("gradient.phi_k", i, a, stored(rounded(sum, back), format_));
      }
      for (Index x = 0; x < p_.m; ++x) {
        Measured sum;
        for (Index a = 0; a < p_.c; ++a) sum += phi_k_[at(i)][at(a)] * later[at(a)][at(x)];
        compare("gradient.v", i, x, stored(rounded(sum, forward), format_));
      }
    }
    compare_state("gradient.S", "gradient.Z", later, back);
  }

  double worst() const { return worst_; }
  const std::string& where() const { return where_; }

private:
  Matrix rows(const char* name) const {
    const Tensor& tensor = in_.at(name);
    const Index group = head_ / (p_.heads / tensor.shape[1]);
    Matrix all(at(n_), std::vector<Measured>(static_cast<std::size_t>(tensor.shape.back())));
    for (Index i = 0; i < n_; ++i)
      for (Index x = 0; x < tensor.shape.back(); ++x) all[at(i)][at(x)] = element(p_, tensor, sequence_, group, i, x);
    return all;
  }
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  /// [S | Z]
  Matrix initial(const char* S, const char* Z) const {
    Matrix state(at(p_.c), std::vector<Measured>(at(p_.m) + 1));
    if (!p_.states) return state;
    for (Index a = 0; a < p_.c; ++a) {
      auto& row = state[at(a)];
      for (Index x = 0; x < p_.m; ++x) row[at(x)] = in_.at(S).get({sequence_, head_, a, x});
      row.back() = in_.at(Z).get({sequence_, head_, a});
    }
    return state;
  }
  void add_token(Matrix& state, Index i) const {
    for (Index a = 0; a < p_.c; ++a) {
      const Measured key = phi_k_[at(i)][at(a)];
      auto& row = state[at(a)];
      for (Index x = 0; x < p_.m; ++x) row[at(x)] += key * v_[at(i)][at(x)];
      row.back() += key;
    }
  }
  Measured dot(const Matrix& state, Index i, Index column) const {
    Measured sum;
    for (Index a = 0; a < p_.c; ++a) sum += phi_q_[at(i)][at(a)] * state[at(a)][at(column)];
    return sum;
  }
  Measured denominator_of(const Matrix& state, Index i, double sum) const {
    Measured denominator = rounded(dot(state, i, p_.m), sum);
    denominator += static_cast<float>(p_.eps);
    return rounded(denominator, kUnit);
  }
  void compare_state(const std::string& S, const std::string& Z, const Matrix& state, double sum) {
    if (!p_.states) return;
    for (Index a = 0; a < p_.c; ++a) {
      const auto& row = state[at(a)];
      for (Index x = 0; x < p_.m; ++x)
        compare(S, out_.at(S).get({sequence_, head_, a, x}), {a, x}, rounded(row[at(x)], sum));
      compare(Z, out_.at(Z).get({sequence_, head_, a}), {a}, rounded(row.back(), sum));
    }
  }
  void compare(const char* name, Index i, Index column, const Measured& due) {
    compare(name, element(p_, out_.at(name), sequence_, head_, i, column), {i, column}, due);
  }
  void compare(const std::string& name, double got, const std::vector<Index>& index, const Measured& due) {
    const double off = std::abs(got - due.value), ratio = off <= due.error  ? (off == 0 ? 0 : off / due.error)
                                                          : std::isnan(off) ? std::numeric_limits<double>::infinity()
                                                                            : off / due.error;
    if (ratio <= worst_) return;
    worst_ = ratio;
    std::ostringstream out;
    out << name << "(sequence " << sequence_ << ", head " << head_;
    for (const Index i : index) out << ", " << i;
    out << "): got " << got << ", due " << due.value << " +- " << due.error;
    where_ = out.str();
  }

  const Problem& p_;
  const Format& format_;
  const Tensors &in_, &out_;
  Index sequence_, head_, n_;
  Matrix phi_q_, phi_k_, v_;
  double worst_ = 0;
  std::string where_;
};

/// The largest error over allowance of all heads and sequences.
double judged(const Problem& p, const Format& format, const Tensors& in, const Tensors& out, bool gradient) {
  double worst = 0;
  for (Index sequence = 0; sequence < static_cast<Index>(p.lengths.size()); ++sequence)
    for (Index head = 0; head < p.heads; ++head) {
      Judge judge(p, format, in, out, sequence, head);
      gradient ? judge.gradient() : judge.value();
      EXPECT_LE(judge.worst(), 1) << format.name << "; " << p.text() << ": " << judge.where();
      worst = std::max(worst, judge.worst());
    }
  return worst;
}

/// The same bits in both, of one sequence: in `whole` from token `first` on, in `part` from its first one on.
bool same_rows(const Problem& p, const Tensor& whole, Index first, const Problem& q, const Tensor& part,
               Index of_whole = 0, Index of_part = 0) {
  for (Index head = 0; head < p.heads; ++head)
    for (Index i = 0; i < q.lengths[static_cast<std::size_t>(of_part)]; ++i)
      for (Index x = 0; x < whole.shape.back(); ++x)
        if (std::bit_cast<std::uint64_t>(element(p, whole, of_whole, head, first + i, x)) !=
            std::bit_cast<std::uint64_t>(element(q, part, of_part, head, i, x)))
          return false;
  return true;
}
bool same_states(const Problem& p, const Tensors& a, const Tensors& b, const std::string& prefix, Index of_a = 0,
                 Index of_b = 0) {
  for (Index head = 0; head < p.heads; ++head)
    for (Index row = 0; row < p.c; ++row) {
      if (a.at(prefix + "Z").get({of_a, head, row}) != b.at(prefix + "Z").get({of_b, head, row})) return false;
      for (Index x = 0; x < p.m; ++x)
        if (a.at(prefix + "S").get({of_a, head, row, x}) != b.at(prefix + "S").get({of_b, head, row, x})) return false;
    }
  return true;
}

// ---- Tests ----

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
  const Format& format() const { return *GetParam().format; }
  const std::string& form() const { return GetParam().form; }
  bool gradient() const { return GetParam().gradient; }
  Tensors inputs(const Problem& p) const { return inputs_of(p, format(), gradient()); }
  Tensors run(const Problem& p, const Tensors& in) const { return evaluate(format(), form(), gradient(), p, in); }
  double check(const Problem& p) const {
    const Tensors in = inputs(p);
    return judged(p, format(), in, run(p, in), gradient());
  }
};

TEST_P(Sizes, EveryLengthWithEveryChunk) {
  double worst = 0;
  for (const Index n : {63, 64, 65, 127, 129, 300})
    for (const Index chunk : {1, 16, 64, 100, 256})
      worst = std::max(worst, check({.lengths = {n}, .c = 5, .m = 3, .chunk = chunk}));
  EXPECT_GT(worst, 0)
      << "sums of 300 terms are rounded: an allowance that is never touched was not compared with anything";
}

TEST_P(Sizes, EveryWidthWithEveryWidth) {
  const std::vector<Index> widths{1, 8, 64, 65, 72, 73, 128, 136, 137, 256};
  const std::vector<Index> lengths{1, 2, 17}, chunks{64, 1, 16};
  std::size_t turn = 0;
  for (const Index c : widths)
    for (const Index m : widths) {
      if (gradient() && turn % 3 != 0) {  // three times as many products
        ++turn;
        continue;
      }
      check({.lengths = {lengths[turn % 3]}, .c = c, .m = m, .chunk = chunks[turn / 3 % 3]});
      ++turn;
    }
}

TEST_P(Sizes, LengthsBeyondATileWithWidthsBeyondATile) {
  check({.lengths = {129}, .c = 73, .m = 137, .chunk = 64});
  check({.lengths = {65}, .c = 136, .m = 65, .chunk = 100});
  check({.lengths = {66}, .c = 256, .m = 72, .chunk = 256});
}

TEST_P(Sizes, HeadsOfABatchInGroups) {
  // A gradient kernel has as many groups as heads.
  check({.lengths = {70, 70}, .heads = 4, .groups = gradient() ? 4 : 2, .c = 9, .m = 5, .chunk = 16});
  check({.lengths = {33, 33, 33}, .heads = 3, .groups = gradient() ? 3 : 1, .c = 5, .m = 66, .chunk = 64});
}

TEST_P(Sizes, WithoutAState) { check({.lengths = {130}, .c = 6, .m = 10, .chunk = 64, .states = false}); }

TEST_P(Sizes, WhereTensorsLieChangesNoBit) {
  Problem dense{.lengths = {70}, .heads = 2, .groups = 2, .c = 70, .m = 22, .chunk = 64};
  const Tensors in = inputs(dense), out = run(dense, in);
  judged(dense, format(), in, out, gradient());
  // Padded rows, rows that begin anywhere, columns that are not contiguous, pointers that are aligned for no vector.
  for (const Layout layout : {Layout{.padding = 2}, Layout{.padding = 3}, Layout{.column = 2}, Layout{.misaligned = 1},
                              Layout{.padding = 5, .misaligned = 3}}) {
    Problem other = dense;
    other.layout = layout;
    const Tensors there = run(other, inputs(other));
    for (const auto& [name, tensor] : out) {
      if (name.back() == 'S' || name.back() == 'Z') continue;
      EXPECT_TRUE(same_rows(dense, tensor, 0, other, there.at(name))) << name;
    }
    EXPECT_TRUE(same_states(dense, out, there, gradient() ? "gradient." : ""));
  }
}

TEST_P(Sizes, TheSameCallGivesTheSameBits) {
  const Problem p{.lengths = {129, 129}, .heads = 2, .groups = 2, .c = 9, .m = 9, .chunk = 16};
  const Tensors in = inputs(p), one = run(p, in), two = run(p, in);
  for (const auto& [name, tensor] : one) {
    if (name.back() == 'S' || name.back() == 'Z') continue;
    for (const Index sequence : {0, 1})
      EXPECT_TRUE(same_rows(p, tensor, 0, p, two.at(name), sequence, sequence)) << name;
  }
  for (const Index sequence : {0, 1})
    EXPECT_TRUE(same_states(p, one, two, gradient() ? "gradient." : "", sequence, sequence));
}

TEST_P(Sizes, LessWorkspaceThanAskedForIsRefused) {
  const Problem p{.lengths = {65}, .c = 5, .m = 3, .chunk = 16};
  Tensors in = inputs(p), out = outputs_of(p, format(), gradient());
  if (!gradient() && form() != "two_level") return;  // needs none
  EXPECT_NE(call(kernel_of("linear.causal", format(), form(), gradient() ? "gradient" : "value", false), p, in, out, 1)
                .find("workspace"),
            std::string::npos);
}

TEST_P(Sizes, PackedSequencesOfUnequalLengths) {
  if (form() != "two_level") return;  // the form that packs
  const Problem p{
      .lengths = {5, 0, 64, 1, 0, 0, 130, 63, 0}, .packed = true, .heads = 2, .groups = 2, .c = 9, .m = 5, .chunk = 64};
  const Tensors in = inputs(p), out = run(p, in);
  judged(p, format(), in, out, gradient());
  for (const Index chunk : {1, 16, 100}) {
    Problem other = p;
    other.chunk = chunk;
    check(other);
  }
  check({.lengths = {0, 0, 3}, .packed = true, .c = 73, .m = 66, .chunk = 16});
}

/// Two calls with a carried state give the bits of one call: cut anywhere token by token, at borders of chunks by
/// chunks.
TEST_P(Sizes, ACarriedStateGivesTheBitsOfOneCall) {
  const Problem whole{.lengths = {150}, .heads = 2, .groups = 2, .c = 9, .m = 40, .chunk = 16};
  const bool anywhere = form() == "recurrent";
  const Tensors in = inputs(whole), out = run(whole, in);
  for (const Index cut : anywhere ? std::vector<Index>{1, 7, 64, 149} : std::vector<Index>{16, 64, 144}) {
    Problem first = whole, second = whole;
    first.lengths = {cut};
    second.lengths = {whole.lengths[0] - cut};
    Tensors before = inputs(first), after = inputs(second);
    for (auto& [name, tensor] : before) {
      if (tensor.shape.size() != 4 || name.back() == 'S') continue;
      for (Index head = 0; head < whole.heads; ++head)
        for (Index i = 0; i < whole.lengths[0]; ++i)
          for (Index x = 0; x < tensor.shape.back(); ++x) {
            const double value = in.at(name).get({0, head, i, x});
            if (i < cut)
              tensor.set({0, head, i, x}, value);
            else
              after.at(name).set({0, head, i - cut, x}, value);
          }
    }
    const auto give = [&](Tensors& to, const std::string& name, const Tensors& from, const std::string& source) {
      std::memcpy(to.at(name).data(), from.at(source).data(),
                  static_cast<std::size_t>(whole.heads * whole.c * (name.back() == 'S' ? whole.m : 1)) * sizeof(float));
    };
    for (const std::string state : {"S", "Z"}) give(before, state, in, state);
    if (gradient()) {
      // Backward the gradient of the state runs from the end: the second part is called first.
      Problem value = first;
      const Tensors middle = evaluate(format(), form(), false, value, [&] {
        Tensors forward = inputs_of(value, format(), false);
        for (auto& [name, tensor] : forward) tensor = before.at(name);
        return forward;
      }());
      for (const std::string state : {"S", "Z"}) {
        give(after, state, middle, state);
        give(after, "cotangent." + state, in, "cotangent." + state);
      }
      const Tensors tail = run(second, after);
      for (const std::string state : {"S", "Z"}) give(before, "cotangent." + state, tail, "gradient." + state);
      const Tensors front = run(first, before);
      for (const std::string name : {"gradient.phi_q", "gradient.phi_k", "gradient.v"}) {
        EXPECT_TRUE(same_rows(whole, out.at(name), 0, first, front.at(name))) << name << ", cut at " << cut;
        EXPECT_TRUE(same_rows(whole, out.at(name), cut, second, tail.at(name))) << name << ", cut at " << cut;
      }
      EXPECT_TRUE(same_states(whole, out, front, "gradient.")) << "cut at " << cut;
    } else {
      const Tensors front = run(first, before);
      for (const std::string state : {"S", "Z"}) give(after, state, front, state);
      const Tensors tail = run(second, after);
      EXPECT_TRUE(same_rows(whole, out.at("o"), 0, first, front.at("o"))) << "cut at " << cut;
      EXPECT_TRUE(same_rows(whole, out.at("o"), cut, second, tail.at("o"))) << "cut at " << cut;
      EXPECT_TRUE(same_states(whole, out, tail, "")) << "cut at " << cut;
    }
  }
}

std::vector<Configuration> configurations() {
  std::vector<Configuration> all;
  for (const Format& format : kFormats)
    for (const char* form : {"recurrent", "chunked", "two_level"})
      for (const bool gradient : {false, true}) all.push_back({&format, form, gradient});
  return all;
}
INSTANTIATE_TEST_SUITE_P(LinearCausal, Sizes, testing::ValuesIn(configurations()), [](const auto& configuration) {
  return std::string(configuration.param.format->name) + "_" + configuration.param.form +
         (configuration.param.gradient ? "_gradient" : "_value");
});

/// The allowance is not too wide: a single token of which one feature is off is seen.
TEST(Allowance, SeesATokenThatIsMissing) {
  const Problem p{.lengths = {300}, .c = 8, .m = 3, .chunk = 64},
      shorter{.lengths = {299}, .c = 8, .m = 3, .chunk = 64};
  const Format& f32 = kFormats[0];
  Tensors in = inputs_of(p, f32, false);
  const Tensors out = evaluate(f32, "chunked", false, p, in);
  Judge right(p, f32, in, out, 0, 0);
  right.value();
  EXPECT_LE(right.worst(), 1) << right.where();
  in.at("phi_k").set({0, 0, 0, 0}, in.at("phi_k").get({0, 0, 0, 0}) + 0.5);  // of 2400
  Judge wrong(p, f32, in, out, 0, 0);
  wrong.value();
  EXPECT_GT(wrong.worst(), 1);
}

}  // namespace

// SPDX-License-Identifier: MIT
// attest_bench_certify [--repetitions N] [--json]: how fast the reference certifies causal attention, against a loop
// over Arb's C functions written by hand, the same page in binary64 and the same page in Boost's mpfr.
//
// The four are timed in turn, again and again, and each ratio is the median of the ratios within one turn: a machine
// that slows down halfway slows all of them. Their results are compared before anything is timed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/witness.hpp"

namespace {

using attest::Index;
using attest::View;
using attest::reference::Binary64;
using attest::reference::Certificate;
using attest::reference::Number;
using attest::reference::Witness;
namespace sdp = attest::reference::attention::scaled_dot_product;

constexpr slong kBits = 128;
constexpr Index kWidth = 16;  // of queries, keys and values

struct Inputs {
  Index n;
  std::vector<double> q, k, v;
};

/// Numbers of 8 significant bits in [-2, 2].
Inputs draw(Index n) {
  std::mt19937_64 engine(7);
  const auto matrix = [&] {
    std::vector<double> x(static_cast<std::size_t>(n * kWidth));
    for (double& element : x) element = static_cast<double>(static_cast<int>(engine() % 257) - 128) / 64;
    return x;
  };
  Inputs inputs{n, matrix(), matrix(), matrix()};
  return inputs;
}

/// The reference's own page in one arithmetic, inputs and outputs included.
template <class Arithmetic>
class Page {
public:
  Page(const Inputs& inputs, std::function<Arithmetic()> make) : inputs_(inputs), make_(std::move(make)) {}

  void run() {
    const Index n = inputs_.n;
    Arithmetic arithmetic = make_();
    const attest::reference::Scope scope(arithmetic);
    const auto lifted = [](const std::vector<double>& x) {
      std::vector<Number> numbers;
      for (const double element : x) numbers.push_back(Number::input(element));
      return numbers;
    };
    const auto q = lifted(inputs_.q), k = lifted(inputs_.k), v = lifted(inputs_.v);
    std::vector<Number> o(q.size());
    const auto view = [&](const std::vector<Number>& x) { return View<const Number, 2>(x.data(), {n, kWidth}); };
    sdp::dense(
        {.q = view(q), .k = view(k), .v = view(v), .mask = {}, .bias = {}, .sink = {}, .scale = {}, .causal = true},
        {.o = {o.data(), {n, kWidth}}});
    result_.clear();
    for (const Number& x : o) result_.push_back(arithmetic.value(x));
  }
  const std::vector<typename Arithmetic::Value>& result() const { return result_; }

private:
  const Inputs& inputs_;
  std::function<Arithmetic()> make_;
  std::vector<typename Arithmetic::Value> result_;
};

/// The same operations at the same precision as somebody would write them in C: no wrapper, all memory up front.
class ByHand {
public:
  explicit ByHand(const Inputs& inputs) : n_(inputs.n) {
    const slong size = n_ * kWidth;
    q_ = filled(inputs.q), k_ = filled(inputs.k), v_ = filled(inputs.v);
    o_ = _arb_vec_init(size), e_ = _arb_vec_init(n_);
    arb_init(scale_), arb_init(z_);
  }
  ~ByHand() {
    for (arb_ptr x : {q_, k_, v_, o_}) _arb_vec_clear(x, n_ * kWidth);
    _arb_vec_clear(e_, n_);
    arb_clear(scale_), arb_clear(z_);
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  void run() {
    arb_set_si(scale_, kWidth);
    arb_sqrt(scale_, scale_, kBits);
    arb_ui_div(scale_, 1, scale_, kBits);
    for (slong i = 0; i < n_; ++i) {
      arb_zero(z_);
      for (slong j = 0; j <= i; ++j) {
        arb_dot(e_ + j, nullptr, 0, q_ + i * kWidth, 1, k_ + j * kWidth, 1, kWidth, kBits);
        arb_mul(e_ + j, e_ + j, scale_, kBits);
        arb_exp(e_ + j, e_ + j, kBits);
        arb_add(z_, z_, e_ + j, kBits);
      }
      for (slong j = 0; j <= i; ++j) arb_div(e_ + j, e_ + j, z_, kBits);
      for (slong c = 0; c < kWidth; ++c) arb_dot(o_ + i * kWidth + c, nullptr, 0, e_, 1, v_ + c, kWidth, i + 1, kBits);
    }
  }
  arb_srcptr result() const { return o_; }

private:
  static arb_ptr filled(const std::vector<double>& values) {
    arb_ptr x = _arb_vec_init(static_cast<slong>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) arb_set_d(x + i, values[i]);
    return x;
  }

  slong n_;
  arb_ptr q_, k_, v_, o_, e_;
  arb_t scale_, z_;
};

void require(bool condition, std::string_view what) {
  if (condition) return;
  fmt::print(stderr, "attest_bench_certify: {}\n", what);
  std::exit(1);
}

double seconds(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Subject {
  std::string_view name;
  std::function<void()> run;
  int inner = 1;  // runs per measurement, so that each takes milliseconds
  std::vector<double> time = {};
};

void measure(Index n, int repetitions, bool json) {
  const Inputs inputs = draw(n);
  Page<Certificate> ball(inputs, [] { return Certificate(kBits); });
  ByHand hand(inputs);
  Page<Binary64> plain(inputs, [] { return Binary64(); });
  Page<Witness> mpfr(inputs, [] { return Witness(kBits); });

  Subject subjects[] = {{"reference over balls", [&] { ball.run(); }},
                        {"Arb by hand", [&] { hand.run(); }},
                        {"reference in double", [&] { plain.run(); }},
                        {"reference in Boost mpfr", [&] { mpfr.run(); }}};
  for (Subject& subject : subjects) {
    const double once = seconds(subject.run);
    subject.inner = std::max(1, static_cast<int>(0.02 / std::max(once, 1e-7)));
  }
  for (std::size_t i = 0; i < ball.result().size(); ++i) {
    const arb_srcptr enclosure = ball.result()[i].get();
    require(arb_overlaps(enclosure, hand.result() + i), "the loop by hand computes something else");
    require(std::abs(attest::reference::approximate(ball.result()[i]) - plain.result()[i]) < 1e-13,
            "double computes something else");
    require(std::abs(static_cast<double>(mpfr.result()[i]) - plain.result()[i]) < 1e-13,
            "mpfr computes something else");
    require(arb_rel_accuracy_bits(enclosure) > 100, "the enclosure is wide");
  }

  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (Subject& subject : subjects)
      subject.time.push_back(seconds([&] {
                               for (int i = 0; i < subject.inner; ++i) subject.run();
                             }) /
                             subject.inner);

  for (const Subject& subject : subjects) {
    const double rate = static_cast<double>(n * kWidth) / median(subject.time);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < subject.time.size(); ++i) ratios.push_back(subject.time[i] / subjects[0].time[i]);
    const double ratio = median(ratios);
    if (json)
      fmt::print(
          "{{\"n\": {}, \"subject\": \"{}\", \"values_per_second\": {:.6g}, \"reference_is_faster_by\": {:.4g}}}\n", n,
          subject.name, rate, ratio);
    else
      fmt::print("{:>5}  {:<26} {:>14.4g} {:>12.3g}\n", n, subject.name, rate, ratio);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int repetitions = 15;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") {
      json = true;
    } else if (std::string_view(argv[i]) == "--repetitions" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      repetitions = std::atoi(argv[++i]);
    } else {
      fmt::print(stderr, "usage: {} [--repetitions N] [--json]\n", argv[0]);
      return 2;
    }
  }
  if (!json) {
    fmt::print(
        "Causal attention, form dense, d = m = {}, {} bits. Ratio: how many times faster the reference over balls "
        "is.\n\n",
        kWidth, kBits);
    fmt::print("{:>5}  {:<26} {:>14} {:>12}\n", "n", "", "values/s", "ratio");
  }
  for (const Index n : {64, 256}) measure(n, repetitions, json);
  flint_cleanup();
  return 0;
}

// SPDX-License-Identifier: MIT
// At length a bound on every error is loose, and mistakes of accumulation are small: what of them is seen.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attest/judge/candidate.hpp"
#include "attest/judge/reproduce.hpp"

namespace attest::judge {
namespace {

/// a + b as an accumulator holds it.
using Add = std::function<float(float a, float b)>;

float nearest(float a, float b) { return a + b; }

/// Rounded to bfloat16 after each addition.
float in_bfloat16(float a, float b) { return static_cast<float>(round_to(DType::bf16, a + b)); }

/// Rounded towards zero: all errors have one sign.
float cut(float a, float b) {
  const double sum = static_cast<double>(a) + static_cast<double>(b);
  const auto rounded = static_cast<float>(sum);
  return std::abs(static_cast<double>(rounded)) > std::abs(sum) ? std::nextafter(rounded, 0.0F) : rounded;
}

struct OneHead {
  Add add = nearest;
  std::vector<Index> order{};  // of the keys; empty: as they come
  Index lost = -1;             // a key that is left out
};

/// Softmax attention without a mask, written in a few loops.
class Loops : public Host {
public:
  explicit Loops(OneHead kernel) : kernel_(std::move(kernel)) {
    for (const DType dtype : {DType::f32, DType::bf16})
      kernels_.push_back({"attention.scaled_dot_product", "max_shift", "value", dtype, "cpu", "bhnd",
                          "causal == false; mask == false; bias == false; sink == false"});
  }

  const std::string& name() const override { return name_; }
  const std::string& version() const override { return name_; }
  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  std::vector<std::string> settle(std::chrono::milliseconds) override { return {}; }
  bool places_outputs() const override { return false; }

  Response call(std::size_t, const Request& request, const CallOptions&) override {
    const auto tensor = [&](const char* wanted) -> const InputTensor& {
      for (const auto& input : request.inputs)
        if (input.name == wanted) return input;
      throw std::logic_error(wanted);
    };
    const auto values = [&](const InputTensor& input) {
      std::vector<double> all(input.bytes.size() / size_of(input.dtype));
      decode(input.dtype, input.bytes.data(), all);
      return std::vector<float>(all.begin(), all.end());
    };
    const auto q = values(tensor("q")), k = values(tensor("k")), v = values(tensor("v"));
    const Index n = tensor("q").shape[2], d = tensor("q").shape[3], s = tensor("k").shape[2], m = tensor("v").shape[3];
    std::vector<Index> order = kernel_.order;
    if (static_cast<Index>(order.size()) != s)
      order.resize(static_cast<std::size_t>(s)), std::iota(order.begin(), order.end(), 0);
    const bool is_bf16 = request.outputs.at(0).dtype == DType::bf16;
    std::vector<double> o;
    for (Index i = 0; i < n; ++i) {
      std::vector<float> logits(static_cast<std::size_t>(s));
      float largest = -INFINITY;
      for (Index j = 0; j < s; ++j) {
        float sum = 0;
        for (Index a = 0; a < d; ++a)
          sum += q[static_cast<std::size_t>(i * d + a)] * k[static_cast<std::size_t>(j * d + a)];
        logits[static_cast<std::size_t>(j)] = sum / std::sqrt(static_cast<float>(d));
        largest = std::max(largest, logits[static_cast<std::size_t>(j)]);
      }
      float sum = 0;
      std::vector<float> row(static_cast<std::size_t>(m));
      for (const Index j : order) {
        if (j == kernel_.lost) continue;
        float p = std::exp(logits[static_cast<std::size_t>(j)] - largest);
        sum = kernel_.add(sum, p);
        if (is_bf16) p = static_cast<float>(round_to(DType::bf16, p));
        for (Index b = 0; b < m; ++b) {
          auto& to = row[static_cast<std::size_t>(b)];
          to = kernel_.add(to, p * v[static_cast<std::size_t>(j * m + b)]);
        }
      }
      for (const float x : row) o.push_back(static_cast<double>(x / sum));
    }
    Response response;
    response.outputs.emplace_back(o.size() * size_of(request.outputs[0].dtype));
    encode(request.outputs[0].dtype, o, response.outputs[0].data());
    return response;
  }

private:
  OneHead kernel_;
  std::string name_ = "loops";
  std::vector<KernelInfo> kernels_;
};

/// The verdict on one head of a size at which some rows are judged, against what correct kernels err there.
Status judged(const char* profile, Index queries, Index keys, OneHead kernel, const char* more = "") {
  Candidate candidate("loops", std::make_unique<Loops>(std::move(kernel)));
  CheckOptions options;
  options.probes = false;
  const auto report = reproduce(candidate,
                                fmt::format("attest:attention.scaled_dot_product:{};n={};s={};d=64;m=16;flag=random;"
                                            "seed=1{};grid=1x1x1",
                                            profile, queries, keys, more),
                                options);
  EXPECT_FALSE(report.rows.empty());
  return report.status();
}

std::vector<Index> reversed(Index keys) {
  std::vector<Index> order(static_cast<std::size_t>(keys));
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

TEST(Accumulators, RightOnesPassInAnyOrder) {
  for (const char* profile : {"f32", "bf16"}) {
    EXPECT_EQ(judged(profile, 64, 4096, {}), Status::pass) << profile;
    EXPECT_EQ(judged(profile, 64, 4096, {.order = reversed(4096)}), Status::pass) << profile;
  }
  EXPECT_EQ(judged("bf16", 16, 16384, {}), Status::pass);
}

TEST(Accumulators, InBfloat16AreSeen) { EXPECT_EQ(judged("bf16", 16, 16384, {in_bfloat16}), Status::fail); }

/// The adders of tensor cores do so: their errors grow as n u and are not wrong for it (decision 21).
TEST(Accumulators, ThatTruncatePass) { EXPECT_EQ(judged("f32", 16, 16384, {cut}), Status::pass); }

/// Where values have one number a column, each output is the weight of one token.
TEST(Accumulators, AKeyThatIsLostAmongThousandsIsSeen) {
  EXPECT_EQ(judged("f32", 64, 4096, {.lost = 2000}), Status::fail);
  EXPECT_EQ(judged("bf16", 64, 4096, {.lost = 4095}, ";draw.v=probes"), Status::fail);
}

}  // namespace
}  // namespace attest::judge

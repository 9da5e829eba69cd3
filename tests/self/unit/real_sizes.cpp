// SPDX-License-Identifier: MIT
// Kernels at the sizes at which they are shipped, with mistakes that small calls do not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "attest/judge/check.hpp"
#include "attest/judge/reproduce.hpp"
#include "attest/judge/work.hpp"
#include "off_under.hpp"

namespace attest::judge {
namespace {

/// Another candidate's kernels of softmax attention in bhnd, of long sequences alone.
class LongAlone : public Wrapped {
public:
  using Change = std::function<void(Request&)>;

  explicit LongAlone(Candidate& right, Change change = nullptr) : Wrapped(right), change_(std::move(change)) {
    for (KernelInfo info : right.host().kernels()) {
      if (info.form != "online_blocked" || info.reading != "value" || info.dtype != DType::f32) info.equation.clear();
      info.capabilities =
          "n == 4096; s == 4096; d == 16; m == 16; groups == heads; heads <= 8; batch <= 2; bias == false";
      if (!info.equation.empty() && info.equation == "attention.scaled_dot_product") kernels_.push_back(info);
    }
  }
  const std::vector<KernelInfo>& kernels() const override { return kernels_; }

  Response call(std::size_t, const Request& request, const CallOptions& options) override {
    Request changed = request;
    if (change_) {
      change_(changed);
      for (auto& tensor : changed.inputs) tensor.view.reset();  // holds the bytes of before
    }
    return Wrapped::call(number(), changed, options);
  }

private:
  /// Of the kernel in the table of the other candidate.
  std::size_t number() const {
    const auto& all = Wrapped::kernels();
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].equation == kernels_[0].equation && all[k].form == kernels_[0].form && all[k].reading == "value" &&
          all[k].dtype == DType::f32 && all[k].layout == kernels_[0].layout)
        return k;
    return 0;
  }

  Change change_;
  std::vector<KernelInfo> kernels_;
};

using Spoil = std::function<void(Response&)>;

/// Changes what a kernel gave.
class Spoiling : public LongAlone {
public:
  Spoiling(Candidate& right, Change change, Spoil spoil)
      : LongAlone(right, std::move(change)), spoil_(std::move(spoil)) {}

  Response call(std::size_t kernel, const Request& request, const CallOptions& options) override {
    Response response = LongAlone::call(kernel, request, options);
    if (spoil_) spoil_(response);
    return response;
  }

private:
  Spoil spoil_;
};

/// The verdict on one case, as it is without a mistake or with one.
Status judged(const std::string& query, LongAlone::Change change = nullptr, Spoil spoil = nullptr) {
  Candidate right("openmp");
  Candidate candidate("long", std::make_unique<Spoiling>(right, std::move(change), std::move(spoil)));
  return reproduce(candidate, "attest:attention.scaled_dot_product:f32;n=4096;s=4096;d=16;m=16;" + query,
                   CheckOptions())
      .status();
}

/// Calls visit(first byte of row `row` of each problem, its bytes) for a tensor [batch, heads, rows, ...].
void each_row(InputTensor& tensor, Index row, const std::function<void(std::byte*, std::size_t)>& visit) {
  const auto problems = static_cast<std::size_t>(tensor.shape[0] * tensor.shape[1]);
  const auto rows = static_cast<std::size_t>(tensor.shape[2]);
  const std::size_t of_row = tensor.bytes.size() / (problems * rows);
  for (std::size_t p = 0; p < problems; ++p)
    visit(tensor.bytes.data() + (p * rows + static_cast<std::size_t>(row)) * of_row, of_row);
}

TEST(RealSizes, AKernelThatCanDoNoSmallOnesIsJudgedThere) {
  Candidate right("openmp");
  Candidate candidate("long", std::make_unique<LongAlone>(right));
  CheckOptions options;
  options.golden = std::filesystem::path(ATTEST_PROJECT_DIR) / "golden";
  options.strength = 1;
  const Row row = check(candidate, options).rows.at(0);
  EXPECT_EQ(row.status, Status::pass) << (row.failures.empty() ? "" : row.failures[0].message);
  EXPECT_EQ(row.cases.judged + row.regimes.judged, 0);
  EXPECT_GE(row.real.judged, 2);
  EXPECT_EQ(row.real.visited, row.real.possible);
  EXPECT_EQ(row.laws.judged, 0);
}

TEST(RealSizes, TheLastKeyOfTheLastTileIsMissed) {
  const std::string query = "flag=random;exact=f32;seed=1;draw.v=probes;grid=1x2x2";
  EXPECT_EQ(judged(query), Status::pass);
  EXPECT_EQ(judged(query,
                   [](Request& request) {
                     for (auto& tensor : request.inputs)
                       if (tensor.name == "v")
                         each_row(tensor, tensor.shape[2] - 1,
                                  [](std::byte* first, std::size_t bytes) { std::fill_n(first, bytes, std::byte{}); });
                   }),
            Status::fail);
}

TEST(RealSizes, AHeadThatAnswersAsAnotherIsSeen) {
  EXPECT_EQ(judged("flag=random;exact=f32;seed=1;grid=1x8x8",
                   [](Request& request) {
                     for (auto& tensor : request.inputs)
                       if (tensor.name == "q") {
                         const std::size_t of_head = tensor.bytes.size() / 8;
                         std::copy_n(tensor.bytes.begin(), of_head,
                                     tensor.bytes.begin() + static_cast<std::ptrdiff_t>(5 * of_head));
                       }
                   }),
            Status::fail);
}

TEST(RealSizes, TheMaskOfTheFirstEntryForAllIsSeen) {
  EXPECT_EQ(judged("flag=random;exact=f32;with=mask;seed=1;grid=2x1x1",
                   [](Request& request) {
                     for (auto& tensor : request.inputs)
                       if (tensor.name == "mask")
                         std::copy_n(tensor.bytes.begin(), tensor.bytes.size() / 2,
                                     tensor.bytes.begin() + static_cast<std::ptrdiff_t>(tensor.bytes.size() / 2));
                   }),
            Status::fail);
}

/// Rows of one tile in the middle, of which no true values are computed: our own kernel sees them.
TEST(RealSizes, ATileThatIsSlightlyOffIsSeenWhereverItLies) {
  for (const std::size_t row : {100u, 2600u}) {
    const auto spoil = [&](Response& response) {
      auto* o = reinterpret_cast<float*>(response.outputs[0].data());
      for (std::size_t i = row * 16; i < (row + 16) * 16; ++i) o[i] *= 1.01f;
    };
    EXPECT_EQ(judged("flag=random;exact=f32;seed=1;grid=1x1x1", nullptr, spoil), Status::fail);
    EXPECT_EQ(judged("flag=random;exact=f32;causal=true;seed=1;grid=1x1x1", nullptr, spoil), Status::fail);
  }
}

TEST(ScaledCost, IsThatOfTheProblemItself) {
  // Of each form counted at that size: within a factor of two.
  for (const char* query : {"attest:attention.scaled_dot_product:f32;n=300;s=500;d=40;m=24;flag=random;seed=1",
                            "attest:linear.causal:f32;n=400;c=30;m=20;flag=random;seed=1",
                            "attest:linear.attention:f32;n=300;s=300;c=20;m=40;flag=random;seed=1"}) {
    const auto [c, profile] = golden::parse_query(query);
    const double estimate = ScaledCost(*c.spec, "").operations(c.sizes, 2);
    const double counted = operations(golden::draw(c), "", {{"n", {c.sizes.at("n") / 2 - 1, c.sizes.at("n") - 1}}});
    EXPECT_LT(estimate, 2 * counted) << query;
    EXPECT_GT(estimate, counted / 2) << query;
  }
}

}  // namespace
}  // namespace attest::judge

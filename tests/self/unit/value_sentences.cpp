// SPDX-License-Identifier: MIT
// What is said of the wrong values of kernels with planted mistakes is so, and nothing is said of other values.
#include "attest/judge/value_sentences.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "attest/judge/verdict.hpp"

namespace attest::judge {
namespace {

using testing::Test;

/// Results of a kernel in some cases: what is due, but for what an edit does to it.
class ValueSentences : public Test {
protected:
  using Edit = std::function<void(const Problem&, Array&)>;

  std::vector<std::string> said(const std::vector<std::string>& queries, const Edit& edit) {
    cases_.clear(), samples_.clear();
    for (const auto& query : queries)
      cases_.push_back(golden::certify_case(golden::parse_query(query).first, {.gradients = false}));
    for (const auto& one : cases_) {
      const auto& due = one.certified.outputs.at("phi");
      Array got{due.shape, due.hi};
      edit(one.problem, got);
      samples_.push_back({&one, {{"phi", got}}});
    }
    std::vector<const Sample*> failing, passing;
    const auto& f32 = golden::profile("f32");
    for (const auto& sample : samples_)
      (compare(sample.c->problem, sample.c->certified, sample.got, f32).failed > 0 ? failing : passing)
          .push_back(&sample);
    return what_values_show(failing, passing, f32);
  }

  std::vector<std::string> said_of_features(const Edit& edit, const std::string& kind = "elu_plus_one") {
    return said({"attest:linear.feature_map:f32;n=6;d=9;kind=" + kind + ";flag=random;seed=1",
                 "attest:linear.feature_map:f32;n=5;d=7;kind=" + kind + ";flag=random;seed=2"},
                edit);
  }

private:
  std::vector<golden::GoldenCase> cases_;
  std::vector<Sample> samples_;
};

using Sentences = std::vector<std::string>;

void at(Array& array, Index column, const std::function<double(double, std::size_t)>& change) {
  const Index columns = array.shape.back();
  for (std::size_t i = 0; i < array.values.size(); ++i)
    if (column < 0 || static_cast<Index>(i) % columns == column) array.values[i] = change(array.values[i], i);
}

TEST_F(ValueSentences, OneValue) {
  const auto fill = [](double x) {
    return [x](const Problem&, Array& got) { at(got, 2, [x](double, std::size_t) { return x; }); };
  };
  EXPECT_EQ(said_of_features(fill(0)), (Sentences{"phi: every wrong element is 0"}));
  EXPECT_EQ(said_of_features(fill(std::nan(""))), (Sentences{"phi: every wrong element is NaN"}));
  EXPECT_EQ(said_of_features(fill(std::numeric_limits<double>::infinity())),
            (Sentences{"phi: every wrong element is infinite"}));
  EXPECT_EQ(said_of_features(fill(3.25)), (Sentences{"phi: every wrong element is 3.25"}));
}

TEST_F(ValueSentences, TheSideOfTheError) {
  const auto one_more = [](double sign) {
    return [sign](const Problem&, Array& got) {
      at(got, -1,
         [&](double x, std::size_t i) { return x + sign * (0.5 + std::abs(std::cos(static_cast<double>(i * i)))); });
    };
  };
  const auto above = said_of_features(one_more(1)), below = said_of_features(one_more(-1));
  ASSERT_EQ(above.size(), 1u);
  EXPECT_EQ(above[0].rfind("phi: each of 89 wrong elements is above what is due, by ", 0), 0u) << above[0];
  ASSERT_EQ(below.size(), 1u);
  EXPECT_EQ(below[0].rfind("phi: each of 89 wrong elements is below what is due, by ", 0), 0u) << below[0];
  // Of a few it may be chance
  EXPECT_EQ(said({"attest:linear.feature_map:f32;n=2;d=2;flag=random;seed=1"}, one_more(1)), Sentences{});
}

TEST_F(ValueSentences, AnInputAsItIs) {
  EXPECT_EQ(said_of_features([](const Problem& problem, Array& got) {
              at(got, 6, [&](double, std::size_t i) { return problem.inputs.at("x").values[i]; });
            }),
            (Sentences{"phi: every wrong element is the element of x as it is"}));
}

TEST_F(ValueSentences, WhatIsDueElsewhere) {
  EXPECT_EQ(said_of_features([](const Problem&, Array& got) {
              const Array due = got;
              for (std::size_t i = 0; i + 9 < got.values.size(); ++i)
                got.values[i] = due.values[i + static_cast<std::size_t>(got.shape[1])];
            })
                .at(0)
                .substr(0, 43),
            "phi: every wrong element is what is due 1 r");
  EXPECT_EQ(said_of_features([](const Problem&, Array& got) {
              const auto columns = static_cast<std::size_t>(got.shape[1]);
              for (std::size_t row = 0; row < got.values.size(); row += columns)
                std::swap(got.values[row + 1], got.values[row + 4]);
            }),
            (Sentences{"phi: column 1 holds what is due in column 4, column 4 holds what is due in column 1, of 9 "
                       "columns"}));
}

TEST_F(ValueSentences, Factors) {
  const auto times = [](double factor) {
    return
        [factor](const Problem&, Array& got) { at(got, -1, [factor](double x, std::size_t) { return factor * x; }); };
  };
  EXPECT_EQ(said_of_features(times(0.999)), (Sentences{"phi: every wrong element is 1 - 0.001 times what is due"}));
  EXPECT_EQ(said_of_features(times(-1)), (Sentences{"phi: every wrong element has the other sign"}));
  EXPECT_EQ(said_of_features([](const Problem&, Array& got) {
              const auto columns = static_cast<std::size_t>(got.shape[1]);
              at(got, -1, [&](double x, std::size_t i) { return x * (1.5 + static_cast<double>(i / columns)); });
            }),
            (Sentences{"phi: the wrong elements of a row are off by a factor of its own, 1.5 to 6.5"}));
  EXPECT_EQ(
      said_of_features([](const Problem&, Array& got) { at(got, -1, [](double x, std::size_t) { return x + 0.25; }); }),
      (Sentences{"phi: every wrong element is what is due + 0.25"}));
}

TEST_F(ValueSentences, PrecisionAndNothing) {
  const auto off_by = [](double relative) {
    return [relative](const Problem&, Array& got) {
      at(got, -1, [&](double x, std::size_t i) { return x + relative * std::cos(static_cast<double>(i * i)); });
    };
  };
  EXPECT_NE(said_of_features(off_by(0x1p-13)).at(0).find("right to about 1"), std::string::npos);
  EXPECT_EQ(said_of_features(off_by(0.5)), Sentences{});
  EXPECT_EQ(said_of_features(off_by(0)), Sentences{});
}

TEST_F(ValueSentences, Limits) {
  const auto below = said_of_features([](const Problem& problem, Array& got) {
    at(got, -1, [&](double x, std::size_t i) { return problem.inputs.at("x").values[i] < 0 ? 1.25 * x : x; });
  });
  ASSERT_EQ(below.size(), 2u);
  EXPECT_EQ(below[0].rfind("phi: wrong where x <= -", 0), 0u) << below[0];
  EXPECT_EQ(below[1], "phi: every wrong element is 1.25 times what is due");
  // Where only some cases have the mistake, x tells nothing in the others
  const auto of_kind =
      said({"attest:linear.feature_map:f32;n=6;d=9;flag=random;seed=1",
            "attest:linear.feature_map:f32;n=6;d=9;kind=relu;flag=random;seed=2"},
           [](const Problem& problem, Array& got) {
             if (problem.parameters.count("kind")) return;
             at(got, -1, [&](double x, std::size_t i) { return problem.inputs.at("x").values[i] > 0 ? x + 3 : x; });
           });
  ASSERT_EQ(of_kind.size(), 2u);
  EXPECT_NE(of_kind[0].find(", in the cases that fail"), std::string::npos) << of_kind[0];
}

}  // namespace
}  // namespace attest::judge

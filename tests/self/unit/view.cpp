// SPDX-License-Identifier: MIT
// Views check their indices in every build of what is linked here.
#include "attest/view.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "attest/reference/number.hpp"

namespace attest {
namespace {

template <class V>
void expect_checks(const V& x) {
  EXPECT_NO_THROW(static_cast<void>(x(1, 2)));
  EXPECT_THROW(static_cast<void>(x(2, 0)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(x(0, 3)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(x(-1, 0)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(x[2]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(x[1](3)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(x.column(3)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(x.rows(1, 2)), std::out_of_range);
  EXPECT_NO_THROW(static_cast<void>(x.rows(2, 0)));
}

TEST(View, AnIndexOutOfRangeThrowsInEveryBuild) {
  double values[6] = {};
  expect_checks(View<double, 2>(values, {2, 3}));
  expect_checks(View<reference::Number, 2>(reinterpret_cast<reference::Number*>(values), {2, 3}));
}

}  // namespace
}  // namespace attest

// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attest/spec.hpp"

namespace attest {

/// Parameters of tests that take one equation each.
inline std::vector<std::string> equation_ids() {
  std::vector<std::string> ids;
  for (const auto& [id, _] : specs()) ids.push_back(id);
  return ids;
}

/// What such a test is called: "linear_causal".
inline std::string name_of_equation(const testing::TestParamInfo<std::string>& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace attest

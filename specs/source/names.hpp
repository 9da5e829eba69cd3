// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace attest {

/// The names of sizes, inputs, parameters ..
template <class T>
std::vector<std::string> names_of(const std::vector<T>& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

}  // namespace attest

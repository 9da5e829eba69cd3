// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "attest/spec.hpp"

namespace attest {

const Spec& find_spec(std::string_view id) {
  const auto at = specs().find(std::string(id));
  if (at != specs().end()) return at->second;
  std::vector<std::string> names;
  for (const auto& [name, _] : specs()) names.push_back(name);
  throw SpecError(fmt::format("no equation is called '{}'{}; `attest list` shows all", id, near_names(id, names)));
}

}  // namespace attest

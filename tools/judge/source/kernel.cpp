// SPDX-License-Identifier: MIT
#include "attest/judge/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attest::judge {

std::string Kernel::name() const {
  return fmt::format("{} {}{} {}", info.equation, info.form.empty() ? "-" : info.form, is_gradient() ? " gradient" : "",
                     attest::name(info.dtype));
}

const golden::Profile& Kernel::profile() const {
  return capabilities.profile() ? golden::profile(*capabilities.profile()) : golden::default_profile(info.dtype);
}

std::vector<std::string> Kernel::token_sizes() const {
  std::vector<std::string> names;
  for (const auto& size : spec->sizes)
    if (size.tokens) names.push_back(size.name);
  return names;
}

std::vector<std::string> Kernel::paged_sizes() const {
  std::vector<std::string> names = token_sizes();
  for (const auto& output : spec->outputs)
    for (const auto& size : output.shape) names.erase(std::remove(names.begin(), names.end(), size), names.end());
  return names;
}

std::vector<std::string> Kernel::ragged_sizes() const {
  return packed() ? token_sizes() : paged() ? paged_sizes() : std::vector<std::string>();
}

}  // namespace attest::judge

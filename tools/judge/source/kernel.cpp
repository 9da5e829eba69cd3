// SPDX-License-Identifier: MIT
#include "attest/judge/kernel.hpp"

#include <fmt/format.h>

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

}  // namespace attest::judge

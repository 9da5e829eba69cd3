// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attest/golden/profile.hpp"
#include "attest/judge/capabilities.hpp"
#include "attest/judge/host.hpp"

namespace attest::judge {

/// One kernel of a candidate, matched with its equation.
struct Kernel {
  std::size_t index = 0;  // in the plugin's table
  KernelInfo info;
  const Spec* spec = nullptr;
  Capabilities capabilities;

  std::string name() const;  // "linear.causal chunked f32"
  bool is_gradient() const { return info.reading == "gradient"; }
  const golden::Profile& profile() const;  // by which it is judged unless told otherwise
  bool batched() const { return info.layout != "nd"; }
  bool packed() const { return info.layout == "thd"; }
  bool paged() const { return info.layout == "pkv"; }
  std::vector<std::string> token_sizes() const;   // of the equation
  std::vector<std::string> paged_sizes() const;   // token sizes that no output has: under pkv their rows lie in pages
  std::vector<std::string> ragged_sizes() const;  // in which the sequences of a batch may differ
};

}  // namespace attest::judge

// SPDX-License-Identifier: MIT
// How a worker died, in words. Private to the judge.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol.hpp"
#include "regions.hpp"

namespace attest::judge {

/// Everything that a death is explained by.
struct Circumstances {
  const protocol::Control& control;
  const std::vector<Region>& regions;         // of the call, if one runs
  const std::vector<Region>& regions_before;  // of the last call that the same child finished
  AddressRange all_addresses;                 // that tensors of this child can have
};

/// Names the part of the plugin that ran last: "the kernel", "the library, while it was loaded,".
std::string culprit(protocol::Phase phase);

/// "the kernel died of SIGSEGV (Segmentation fault): it wrote 4 bytes past the end of output 'o' [3, 4] float32".
/// `status` is the wait status, or nothing where the child had to be killed.
std::string describe_death(std::optional<int> status, const Circumstances& circumstances);

}  // namespace attest::judge

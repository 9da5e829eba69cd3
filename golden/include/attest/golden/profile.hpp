// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "attest/dtype.hpp"
#include "attest/reference/error_model.hpp"
#include "attest/spec.hpp"

namespace attest::golden {

/// The rounding channels, in the order of every list of units and bounds.
inline constexpr std::array<std::string_view, reference::kChannels> kChannelNames{"accumulate", "operand", "function",
                                                                                  "store", "underflow"};

/// The precision that a kernel claims: formats of tensors, and the unit of each rounding channel. No other number
/// decides a verdict.
struct Profile {
  std::string name;
  DType storage = DType::f64;  // of inputs and outputs
  DType state = DType::f64;    // of tensors that carry a state from call to call
  reference::PerChannel units{};
  std::string meaning;
  bool cuts = false;  // whether factors may be cut to their format, not rounded; the unit is then twice as large

  /// Units as they apply to one output: a state is stored in the state's format.
  reference::PerChannel units_of(const TensorDeclaration& output) const;
};

const std::vector<Profile>& profiles();

/// Throws SpecError that lists the profiles.
const Profile& profile(std::string_view name);

/// The profile that a kernel of that dtype is judged by unless told otherwise.
const Profile& default_profile(DType dtype);

/// The two sets of units that stored bounds are valid for: `wide` covers every profile, `narrow` float32 and finer.
const reference::PerChannel& wide_units();
const reference::PerChannel& narrow_units();

/// Whether bounds taken at `limit` hold for a profile.
bool covers(const reference::PerChannel& limit, const reference::PerChannel& units);

}  // namespace attest::golden

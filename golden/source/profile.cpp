// SPDX-License-Identifier: MIT
#include "attest/golden/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attest::golden {

using reference::kAccumulate;
using reference::kChannels;
using reference::kStore;
using reference::PerChannel;

PerChannel Profile::units_of(const TensorDeclaration& output) const {
  PerChannel mine = units;
  if (output.state && state != storage) mine[kStore] = units[kAccumulate];
  return mine;
}

const std::vector<Profile>& profiles() {
  // accumulate, operand, function, store, underflow. An elementary function may err by 16 ulp of the accumulator's
  // format.
  static const std::vector<Profile> all{
      {"f64", DType::f64, DType::f64, {0x1p-53, 0x1p-53, 0x1p-48, 0x1p-53, 0x1p-1022}, "binary64 throughout"},
      {"f32", DType::f32, DType::f32, {0x1p-24, 0x1p-24, 0x1p-19, 0x1p-24, 0x1p-126}, "binary32 throughout"},
      {"tf32",
       DType::f32,
       DType::f32,
       {0x1p-24, 0x1p-10, 0x1p-19, 0x1p-24, 0x1p-126},
       "factors of products rounded or cut to 11 bits, the rest binary32",
       true},
      {"bf16",
       DType::bf16,
       DType::f32,
       {0x1p-24, 0x1p-8, 0x1p-19, 0x1p-8, 0x1p-126},
       "stored and multiplied as bfloat16, accumulated in binary32"},
      {"bf16-f32p",
       DType::bf16,
       DType::f32,
       {0x1p-24, 0x1p-24, 0x1p-19, 0x1p-8, 0x1p-126},
       "stored as bfloat16, everything computed on the way, probabilities too, in binary32"},
      {"f16",
       DType::f16,
       DType::f32,
       {0x1p-24, 0x1p-11, 0x1p-19, 0x1p-11, 0x1p-24},
       "stored and multiplied as binary16, accumulated in binary32"},
      {"f16-f32p",
       DType::f16,
       DType::f32,
       {0x1p-24, 0x1p-24, 0x1p-19, 0x1p-11, 0x1p-24},
       "stored as binary16, everything computed on the way, probabilities too, in binary32"},
  };
  return all;
}

const Profile& profile(std::string_view name) {
  std::string names;
  for (const auto& known : profiles()) {
    if (known.name == name) return known;
    names += (names.empty() ? "" : ", ") + known.name;
  }
  throw SpecError(fmt::format("no profile is called '{}'; profiles: {}", name, names));
}

const Profile& default_profile(DType dtype) { return profile(name(dtype)); }

const PerChannel& wide_units() {
  static const PerChannel units = [] {
    PerChannel widest{};
    for (const auto& known : profiles())
      for (std::size_t c = 0; c < kChannels; ++c) widest[c] = std::max(widest[c], known.units[c]);
    return widest;
  }();
  return units;
}

const PerChannel& narrow_units() { return profile("f32").units; }

bool covers(const PerChannel& limit, const PerChannel& units) {
  return std::equal(units.begin(), units.end(), limit.begin(), [](double unit, double most) { return unit <= most; });
}

}  // namespace attest::golden

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attest/judge/kernel.hpp"
#include "attest/judge/layout.hpp"
#include "attest/judge/select.hpp"

namespace attest::judge {

/// A batch of several heads whose inputs differ, with the certified values of each.
struct Heads {
  std::vector<golden::GoldenCase> cases;  // per problem of the batch
  Batch batch;
};

/// Two shapes of batches are tried on a kernel: sizes of axes, and groups of heads, that differ between the two.
enum class Grid { first, second };

/// Several heads per entry, keys shared in groups, in the shape of one of the selected cases, so that a kernel that
/// mixes up heads, groups or entries is wrong in some head. Nothing where no case's heads can be drawn and certified,
/// or where the heads of each give the same answers.
std::optional<Heads> draw_heads(const Kernel& kernel, const golden::Profile& profile, const Selection& selection,
                                Grid grid);

/// "head 3 of a batch of 2 x 4 (2 groups): ".
std::string name_of_head(std::size_t problem, const Kernel& kernel, const Batch& batch);

}  // namespace attest::judge

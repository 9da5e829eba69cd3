// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attest/judge/kernel.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/report.hpp"

/// Waivers: failures that are known, with a reason and a day until which they are accepted.
namespace attest::judge {

/// The waivers of a TOML file: entries [[waiver]] with `kernel` or `equation` (globs), `reason`, `expires` and, where
/// they are wanted, `profile` and `condition`. Throws SpecError with file, line and what is allowed.
std::vector<Waiver> parse_waivers(std::string_view text, const std::string& file);
std::vector<Waiver> read_waivers(const std::filesystem::path& path);

/// Throws SpecError where a waiver matches none of the kernels in any profile that they can be judged by, or has a
/// condition that an equation of those it matches has no meaning for.
void check_waivers(const std::vector<Waiver>& waivers, const std::vector<Kernel>& kernels);

/// Whether a check by these options does less than one by the defaults, so that a kernel that fails may pass.
bool does_less(const CheckOptions& options);

/// Today in UTC, as Waiver::expires is written.
std::string today();

/// Puts the waivers into a report: failures and crashes that one covers are waived. A waiver has a problem where it has
/// expired, and where a kernel that it matches has no failure that it would cover; not where that kernel has too little
/// judged, or `less` was judged than by default. What is INVALID is never waived.
void apply_waivers(std::vector<Waiver> waivers, const std::string& day, bool less, Report& report);

}  // namespace attest::judge

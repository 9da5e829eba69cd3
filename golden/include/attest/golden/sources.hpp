// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "attest/spec.hpp"

namespace attest::golden {

/// C++ without comments and without the white space that means nothing.
std::string canonical(std::string_view code);

/// The part of a spec that decides its golden values, as JSON: sizes, tensors, parameters, forms, constraints, cases;
/// no prose, no laws, no faults, no evidence, no backends.
std::string contract(const Spec& spec);

/// Every file that the golden values of an equation are computed by, with its canonical text; of another equation that
/// its header reads, the contract.
std::map<std::string, std::string> sources_of(const Spec& spec, const std::filesystem::path& project);

}  // namespace attest::golden

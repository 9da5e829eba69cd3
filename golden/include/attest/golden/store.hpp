// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/golden/certify.hpp"

namespace attest::golden {

/// One golden case: what went in, what is true, what the gradients were taken for.
struct GoldenCase {
  Case name;
  Problem problem;
  Arrays cotangents;
  Certified certified;
};

/// Draws and certifies a case.
GoldenCase certify_case(const Case& c, const CertifyOptions& options = {});

/// The golden file of one equation: safetensors with tensors "017/input/q", "017/cotangent/o", "017/output/o/hi",
/// "/lo",
/// "/bound" and "/rms" (one row per channel), "017/margin", and the list of cases as JSON metadata.
std::string serialize(const Spec& spec, const std::vector<GoldenCase>& cases);

/// Reads a golden file back; throws std::runtime_error naming the file, the case and what is wrong. The cases must be
/// those of the spec, in order, with the inputs that their queries draw.
std::vector<GoldenCase> parse_golden(const Spec& spec, const std::string& bytes, const std::string& origin);

/// Where a golden file lies under its folder: "linear/causal.safetensors".
std::filesystem::path file_of(const Spec& spec);

/// Where its manifest lies, beside it, so that an equation is added without editing a file:
/// "linear/causal.manifest.toml".
std::filesystem::path manifest_of(const Spec& spec);

/// SHA-256 over what decides the values of an equation and nothing else (sources.hpp): its contract, its reference
/// header with all that it includes, the number types, the generator, the rounding of inputs.
std::string source_hash(const Spec& spec, const std::filesystem::path& project);

/// Called by a long run: so many of so many are done, and the name of the next.
using Progress = std::function<void(std::size_t done, std::size_t total, const std::string& current)>;

/// Writes the golden files of those equations, each with its manifest beside it, into `folder`; OpenMP over cases.
/// Every file is written beside its target and renamed; a failure leaves the old files as they are.
void regenerate(const std::vector<const Spec*>& specs, const std::filesystem::path& project,
                const std::filesystem::path& folder, const Progress& progress);

/// Checks the files of those equations against their manifests, the manifests against the sources, and the files
/// against the specs; where it is all equations, that no other file lies in `folder`. Returns one sentence per fault;
/// empty when all is well.
std::vector<std::string> verify(const std::vector<const Spec*>& specs, const std::filesystem::path& project,
                                const std::filesystem::path& folder);

/// The golden cases of one equation, after the file's hash was checked against the manifest; throws std::runtime_error
/// with what to do when it is missing, stale or damaged.
std::vector<GoldenCase> load_golden(const Spec& spec, const std::filesystem::path& folder);

}  // namespace attest::golden

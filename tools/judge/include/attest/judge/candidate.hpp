// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attest/expression.hpp"
#include "attest/golden/case.hpp"
#include "attest/golden/profile.hpp"
#include "attest/judge/process.hpp"

namespace attest::judge {

/// Where the project's own plugins lie: ATTEST_PLUGIN_DIR of the environment, or the build's folder.
std::filesystem::path plugin_folder();

/// What a kernel said it can do: conditions over sizes, parameters and a few words of the harness.
class Capabilities {
public:
  Capabilities() = default;
  /// Throws SpecError when a condition does not parse or names something that the equation does not have.
  Capabilities(const Spec& spec, const std::string& text);

  bool allow(const Spec& spec, const Sizes& sizes, const Parameters& parameters) const;

  /// The nearest sizes and parameters that are allowed; nothing when none is found.
  std::optional<std::pair<Sizes, Parameters>> adapted(const Spec& spec, Sizes sizes, Parameters parameters) const;

  std::size_t alignment() const { return alignment_; }       // "align == 64"
  bool deterministic() const { return deterministic_; }      // "deterministic == false" waives the repeat test
  bool gives(const std::string& output) const;               // "lse == false": an optional output it does not have
  bool takes(const std::vector<std::string>& inputs) const;  // "mask == false": an optional input it cannot be given
  std::optional<bool> hidden_nan() const {
    return hidden_nan_;
  }  // "hidden_nan == true": what a mask hides may hold NaN
  const std::optional<std::string>& profile() const {
    return profile_;
  }  // "profile == 'tf32'": what it is judged by unless told otherwise
  const std::string& text() const { return text_; }

private:
  std::vector<Expression> conditions_;
  std::vector<std::string> missing_;     // optional inputs and outputs
  std::vector<std::string> at_default_;  // "scale == default": parameters that are left at what the equation says
  std::size_t alignment_ = 0;
  bool deterministic_ = true;
  std::optional<bool> hidden_nan_;
  std::optional<std::string> profile_;
  std::string text_;
};

struct Kernel {
  std::size_t index = 0;  // in the plugin's table
  KernelInfo info;
  const Spec* spec = nullptr;
  Capabilities capabilities;

  std::string name() const;                // "linear.causal chunked f32"
  const golden::Profile& profile() const;  // by which it is judged unless told otherwise
  bool packed() const { return info.layout == "thd"; }
  std::vector<std::string> token_sizes() const;  // of the equation
};

/// Throws InvalidCandidate where the kernel's layout is none, or one that its equation cannot have.
void check_layout(const Kernel& kernel);

/// A batch of heads: problems[b * heads + h]. All have one shape, but that entries of a batch may differ in their token
/// sizes where the layout packs them. Heads of one group share the tensors that are per group.
struct Batch {
  std::vector<Problem> problems;
  std::vector<Arrays> cotangents;  // per problem, for gradient kernels
  Index batch = 1, heads = 1, groups = 1;
};

/// The tensors of a batch as a layout lays them out.
Request assemble(const Batch& batch, const Kernel& kernel, const golden::Profile& profile);

/// The outputs of each problem of the batch back from the bytes of a response.
std::vector<Arrays> disassemble(const Batch& batch, const Kernel& kernel, const Request& request,
                                const std::vector<std::vector<std::byte>>& outputs);

/// The project's own plugins, by the name that `attest check` takes; a build may lack some.
inline constexpr std::array<const char*, 4> kCandidates{"openmp", "cuda", "cuda-emulated", "reference"};

/// A plugin whose kernels were matched with the equations.
class Candidate {
public:
  /// One of kCandidates, "fault:ID.NAME" or "order:NAME" (with * and ?; @X behind a fault that has an amplitude
  /// plants X times as much), or the path of a shared library; throws InvalidCandidate.
  explicit Candidate(const std::string& name);

  /// Kernels that run elsewhere than in a plugin; throws InvalidCandidate.
  Candidate(const std::string& name, std::unique_ptr<Host> host);

  const std::string& name() const { return name_; }
  Host& host() { return *host_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }

private:
  std::string name_;
  std::unique_ptr<Host> host_;
  std::vector<Kernel> kernels_;
};

}  // namespace attest::judge

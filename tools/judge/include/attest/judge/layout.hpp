// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "attest/golden/case.hpp"
#include "attest/golden/profile.hpp"
#include "attest/judge/host.hpp"
#include "attest/judge/kernel.hpp"

namespace attest::judge {

/// Throws InvalidCandidate where the kernel's layout is none, or one that its equation cannot have.
void check_layout(const Kernel& kernel);

/// A batch of heads: problems[b * heads + h]. All have one shape, but that entries of a batch may differ in their token
/// sizes where the layout packs sequences. Heads of one group share the tensors that are per group.
struct Batch {
  std::vector<Problem> problems;
  std::vector<Arrays> cotangents;  // per problem, for gradient kernels
  Index batch = 1, heads = 1, groups = 1;
};

/// Rows of a page under layout pkv: one of the lengths that the kernel allows, the same for equal batches.
Index page_length(const Kernel& kernel, const Batch& batch);

/// The call of a kernel with a batch: tensors encoded in the profile's formats and laid out as the kernel's layout says
/// (attest_kernel.h), offsets of packed sequences, tables of pages, cotangents of a gradient kernel, parameters.
Request assemble(const Batch& batch, const Kernel& kernel, const golden::Profile& profile);

/// The results of each problem of the batch, decoded from the bytes of a response to that request.
std::vector<Arrays> disassemble(const Batch& batch, const Kernel& kernel, const Request& request,
                                const std::vector<std::vector<std::byte>>& outputs);

}  // namespace attest::judge

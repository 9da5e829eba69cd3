// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "attest/golden/certify.hpp"
#include "attest/golden/profile.hpp"
#include "attest/reference/evaluate.hpp"

namespace attest::golden {

/// True values of some rows, as close as a verdict needs them: each element's enclosure has a radius of at most 2^-20
/// of its bound.
struct EnclosedRows {
  CertifiedTensors
      outputs;       // of each result the rows that are wanted, one after the other; lo is 0 where binary64 was enough
  std::string rung;  // the arithmetic that was enough: "binary64", or "Arb, 128 bits"
};

struct EncloseOptions {
  std::vector<std::string> forms{};    // whose error model is taken; none: all that apply
  const Arrays* cotangents = nullptr;  // gradients for these as well, and everything whole: no rows may be wanted then
  const CertifiedTensors* bounds = nullptr;  // of the same results at units no smaller (covers()): taken as they are
};

/// Values, bounds and expected sizes of the wanted rows for kernels of one profile. Binary64 is tried first, its own
/// error bounded by the same error model at the units of binary64; where that is not enough (profile f64), Arb. Throws
/// Uncertifiable that names the element where no precision is enough, or the decision that is too close to call.
EnclosedRows enclose_rows(const Problem& problem, const Profile& profile, const reference::WantedRows& rows,
                          const EncloseOptions& options = {});

/// The stages of a form ("weights", "denominator"), found by running it on the small cases of the equation: those of
/// branches that none of them takes are not known.
std::vector<std::string> stages_of(const Spec& spec, const FormDeclaration& form);

}  // namespace attest::golden

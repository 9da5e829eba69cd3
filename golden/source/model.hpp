// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "attest/golden/agreement.hpp"
#include "attest/golden/certify.hpp"
#include "attest/golden/gradients.hpp"
#include "attest/reference/error_model.hpp"
#include "attest/reference/evaluate.hpp"

/// What certifying a case and judging single rows have in common: runs of a form, and bounds as they are stored.
namespace attest::golden {

using namespace reference;

/// All that one form gives: outputs, and gradients when there are cotangents.
template <class Arithmetic>
auto run(Arithmetic&& arithmetic, const Problem& problem, const std::string& form, const Arrays& cotangents,
         Decisions* decisions = nullptr) {
  return results_of(arithmetic, problem, [&](Bundle& bundle) { evaluate(form, bundle); }, cotangents, decisions);
}

/// Rounded up to a bfloat16, so that two bytes hold it and it stays a bound.
inline float up_to_bf16(double bound) {
  if (bound == 0) return 0;
  if (!std::isfinite(bound)) return std::numeric_limits<float>::infinity();
  bound *= 1 + 0x1p-30;  // the model's own arithmetic
  float single = static_cast<float>(bound);
  if (static_cast<double>(single) < bound) single = std::nextafter(single, std::numeric_limits<float>::infinity());
  std::uint32_t word = std::bit_cast<std::uint32_t>(single);
  if (word & 0xffffu) word = (word & 0xffff0000u) + 0x10000u;
  return std::bit_cast<float>(word);
}

inline void merge_model(CertifiedTensors& tensors, const ErrorModel& model, const Problem& problem,
                        const Values<Rounding>& values) {
  for (const auto& [name, elements] : values) {
    auto& tensor = tensors[name];
    const bool fresh = tensor.shape.empty() && tensor.bound[0].empty();
    tensor.shape = shape_of_result(problem, name);
    if (fresh)
      for (auto* channels : {&tensor.bound, &tensor.rms})
        for (auto& channel : *channels) channel.assign(elements.size(), 0);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Rounding stored = std::isfinite(elements[i].value) ? model.stored(elements[i]) : Rounding();
      for (std::size_t c = 0; c < kChannels; ++c) {
        float &bound = tensor.bound[c][i], &rms = tensor.rms[c][i];
        const double b = stored.bound[c], r = std::sqrt(stored.variance[c]);
        bound = std::max(bound, up_to_bf16(b >= 0 ? b : std::numeric_limits<double>::infinity()));
        rms = std::max(rms, static_cast<float>(round_to(DType::bf16, std::isfinite(r) ? r : 0)));
      }
    }
  }
}

}  // namespace attest::golden

// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/evaluate.hpp"
#include "attest/spec.hpp"

/// What it costs to call a kernel and to know what is true.
namespace attest::judge {

/// The largest count among the equation's costs, or of the elements of a tensor.
double work_of(const Spec& spec, const Sizes& sizes, const Parameters& parameters);

/// Operations of every form that the error model runs, for those rows: a multiply-add inside a sum counts as one,
/// anything else as several.
double operations(const Problem& problem, const reference::WantedRows& rows = {});

/// Operations by work_of, the most that the larger ones of the equation's small golden cases show.
double operations_by_work(const Spec& spec);

}  // namespace attest::judge

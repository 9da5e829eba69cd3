// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "attest/golden/certify.hpp"
#include "attest/golden/profile.hpp"
#include "attest/reference/emulation.hpp"
#include "attest/reference/evaluate.hpp"

namespace attest::judge {

/// Runs a fault of one equation; `amplitude` is that of a fault that has one.
using FaultRun = void (*)(std::string_view fault, double amplitude, reference::Bundle& bundle);

[[noreturn]] inline void unknown_fault(std::string_view id, std::string_view fault) {
  throw SpecError(std::string(id) + " has no fault '" + std::string(fault) + "'");
}

/// Every equation's faults, by id; generated from specs/ and tests/faults.
const std::map<std::string, FaultRun, std::less<>>& all_faults();

/// Rounding of an emulated kernel of that profile: precision of accumulators, format of operands.
reference::Kernel kernel_of(const golden::Profile& profile, reference::Order order = reference::Order::ascending,
                            std::uint64_t seed = 1);

/// Outputs of a fault as such a kernel computes them, before they are stored; with the fault's own amplitude (of some
/// rows, or all), or another one.
Arrays outputs_of_fault(const Problem& problem, const Fault& fault, const reference::Kernel& kernel,
                        const reference::WantedRows& rows = {});
Arrays outputs_of_fault(const Problem& problem, const Fault& fault, const reference::Kernel& kernel, double amplitude);

/// Its outputs and gradients.
Arrays gradients_of_fault(const Problem& problem, const Fault& fault, const reference::Kernel& kernel,
                          const Arrays& cotangents);

/// Outputs of a form as such a kernel, correct otherwise, computes them, before they are stored; gradients as well
/// where there are cotangents.
Arrays emulated(const Problem& problem, const std::string& form, const reference::Kernel& kernel,
                const Arrays& cotangents = {});

/// The results rounded to the formats that the profile stores them in.
Arrays stored(const Problem& problem, Arrays results, const golden::Profile& profile);

/// False when a correct kernel of the profile may overflow: in some form, or in a fault's equation that is equivalent,
/// emulated in one order of summation, a factor or an output is beyond half of what its format holds. Asked of binary16
/// alone, whose range is 2^16. `rows` are those that are looked at, all where there are none.
bool within_range(const Problem& problem, const golden::Profile& profile, const reference::WantedRows& rows = {});

/// The fault taken as if it were the equation: its values (hi and lo), and bounds and rms at the profile's units. Where
/// it has no value over the reals, hi is what binary64 gives: an infinity or NaN. Throws reference::Undecided where
/// 4096 bits do not decide a branch on data. With gradients where there are cotangents.
golden::CertifiedTensors as_equation(const Problem& problem, const Fault& fault, const golden::Profile& profile,
                                     const Arrays& cotangents = {});

}  // namespace attest::judge

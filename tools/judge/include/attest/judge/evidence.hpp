// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attest/golden/store.hpp"
#include "attest/spec.hpp"

/// Evidence that a spec names for an invariant, an erratum or a claim, and that is no law, property, form or fault.
/// Each kind is run.
namespace attest::judge {

/// The outcome of one piece of evidence. It is declared where nothing could be run: the spec says so, and no more.
struct Trial {
  enum class Result { holds, fails, declared };
  Result result = Result::holds;
  std::string why;  // empty where it holds
};

/// "cost": the operations that the forms do on the stored cases flagged random* are those of [[costs]].
Trial try_costs(const Spec& spec);

/// "gradient": the stored gradients of up to three small cases are the derivatives of the definition. The derivative
/// along one direction t, a difference quotient of certified values at 700 bits with step 2^-100, agrees with the sum
/// of gradient x t to 2^-70 of the sum of its magnitudes. No tape takes part. What stop_gradient() gives is the same on
/// both sides of the quotient.
Trial try_gradients(const std::vector<golden::GoldenCase>& cases);

/// "constraint LABEL": sizes that break it, found near those of the stored cases, are refused with its label. A
/// condition on data is declared: no sizes break it.
Trial try_constraint(const Spec& spec, const std::string& label);

/// Programs of unit tests, by "Suite.Name": "attest_test_<stem>" for the tests in <stem>.cpp.
using UnitTests = std::map<std::string, std::string>;

/// Reads the names from a folder of GoogleTest sources.
UnitTests unit_tests(const std::filesystem::path& sources);

/// "test Suite.Name": runs it in the program that lies in the folder `programs`; declared where that was not built.
Trial try_test(const UnitTests& tests, const std::string& name, const std::filesystem::path& programs);

}  // namespace attest::judge

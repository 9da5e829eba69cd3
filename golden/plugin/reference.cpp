// SPDX-License-Identifier: MIT
// The reference in double behind the interface that every candidate has, so that it is judged like one.
#include <deque>

#include "call.hpp"

namespace {

using namespace attest;

int run(const attest_call* call) {
  return plugin::answer(call, [&](const Problem& problem, const Arrays& cotangents) {
    return golden::evaluate_in_double(problem, call->form, cotangents);
  });
}

}  // namespace

extern "C" const attest_plugin* attest_plugin_v1(void) {
  static const std::vector<attest_kernel> kernels = [] {
    std::vector<attest_kernel> all;
    static std::deque<std::string> conditions;  // deque: a kernel keeps the address
    for (const auto& [id, spec] : specs())
      for (const auto& form : spec.forms) {
        if (form.numeric) continue;  // right over the reals only
        conditions.push_back(form.when);
        attest_kernel kernel{
            id.c_str(), form.name.c_str(), "value", {kDLFloat, 64, 1}, kDLCPU, "nd", conditions.back().c_str(), nullptr,
            run};
        all.push_back(kernel);
        if (spec.gradient.empty()) continue;
        kernel.reading = "gradient";
        all.push_back(kernel);
      }
    return all;
  }();
  static const attest_plugin plugin{ATTEST_ABI_VERSION, "attest reference", ATTEST_VERSION, kernels.size(),
                                    kernels.data()};
  return &plugin;
}

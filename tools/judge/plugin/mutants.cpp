// SPDX-License-Identifier: MIT
// Mutants of each equation and correct kernels, emulated in every precision, behind the interface that every candidate
// has: a mutant per fault, as the form "fault:NAME"; a correct kernel per order of summation and form, as
// "order:NAME:FORM".
#include <algorithm>
#include <deque>

#include "attest/judge/faults.hpp"
#include "plugin/call.hpp"

namespace {

using namespace attest;

/// The precision of a call: that of its inputs; a state may be kept in more.
const golden::Profile& precision_of(const attest_call& call, const Spec& spec) {
  for (std::size_t i = 0; i < call.input_count; ++i)
    if (const auto* input = spec.input(call.inputs[i].name); input && input->element == Element::real && !input->state)
      return golden::default_profile(plugin::dtype_of(call.inputs[i].tensor));
  throw SpecError(spec.id + ": no input tells the precision");
}

int run(const attest_call* call) {
  return plugin::answer(call, [&](const Problem& problem, const Arrays& cotangents) {
    const Spec& spec = *problem.spec;
    const auto& profile = precision_of(*call, spec);
    const std::string_view form = call->form;
    if (form.starts_with("fault:")) {  // "fault:NAME", or "fault:NAME@MULTIPLE" of its amplitude
      const auto end = std::min(form.find('@'), form.size());
      const Fault& fault = *spec.fault(form.substr(6, end - 6));
      if (fault.gradient) return judge::gradients_of_fault(problem, fault, judge::kernel_of(profile), cotangents);
      const double multiple = end < form.size() ? std::stod(std::string(form.substr(end + 1))) : 1;
      return judge::outputs_of_fault(problem, fault, judge::kernel_of(profile), multiple * fault.amplitude);
    }
    const auto name = form.substr(6, form.rfind(':') - 6);
    const auto order = std::find_if(reference::kOrders.begin(), reference::kOrders.end(),
                                    [&](const auto& known) { return known.name == name; });
    return judge::emulated(problem, std::string(form.substr(form.rfind(':') + 1)),
                           judge::kernel_of(profile, order->order));
  });
}

}  // namespace

extern "C" const attest_plugin* attest_plugin_v1(void) {
  static const std::vector<attest_kernel> kernels = [] {
    std::vector<attest_kernel> all;
    static std::deque<std::string> texts;  // deque: a kernel keeps the addresses
    const auto add = [&](const Spec& spec, const std::string& form, const std::string& when, const char* reading) {
      const char* name = texts.emplace_back(form).c_str();
      const char* conditions = texts.emplace_back(when).c_str();
      for (const DLDataType dtype : {DLDataType{kDLFloat, 32, 1}, DLDataType{kDLFloat, 64, 1},
                                     DLDataType{kDLBfloat, 16, 1}, DLDataType{kDLFloat, 16, 1}})
        all.push_back({spec.id.c_str(), name, reading, dtype, kDLCPU, "nd", conditions, nullptr, run});
    };
    for (const auto& [id, spec] : specs()) {
      for (const auto& fault : spec.faults) add(spec, "fault:" + fault.name, "", fault.gradient ? "gradient" : "value");
      for (const auto& order : reference::kOrders)
        for (const auto& form : spec.forms)
          if (!form.numeric) add(spec, "order:" + std::string(order.name) + ":" + form.name, form.when, "value");
    }
    return all;
  }();
  static const attest_plugin plugin{ATTEST_ABI_VERSION, "attest mutants", ATTEST_VERSION, kernels.size(),
                                    kernels.data()};
  return &plugin;
}

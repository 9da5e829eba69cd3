// SPDX-License-Identifier: MIT
// The reference in double behind the interface that every candidate has, so that it is judged like one.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/golden/certify.hpp"

namespace {

using namespace attest;

/// Every element of a tensor of one head, strides respected.
template <class F>
void each_element(const DLTensor& tensor, F&& visit) {
  std::vector<std::int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  const Index total = count(shape);
  for (Index flat = 0; flat < total; ++flat) {
    Index rest = flat, offset = 0;
    for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
      offset += rest % tensor.shape[axis] * tensor.strides[axis];
      rest /= tensor.shape[axis];
    }
    visit(static_cast<std::size_t>(flat), offset);
  }
}

Array read(const DLTensor& tensor, Element element) {
  Array array{{tensor.shape, tensor.shape + tensor.ndim}, {}};
  array.values.resize(static_cast<std::size_t>(count(array.shape)));
  const char* data = static_cast<const char*>(tensor.data) + tensor.byte_offset;
  each_element(tensor, [&](std::size_t flat, Index offset) {
    array.values[flat] = element == Element::real      ? reinterpret_cast<const double*>(data)[offset]
                         : element == Element::boolean ? static_cast<double>(data[offset] != 0)
                                                       : static_cast<double>(reinterpret_cast<const std::int64_t*>(data)[offset]);
  });
  return array;
}

Problem problem_of(const attest_call& call, Arrays& cotangents) {
  Problem problem{&find_spec(call.equation), {}, {}, {}};
  const Spec& spec = *problem.spec;
  const auto learn_sizes = [&](const TensorDeclaration& declared, const Array& array) {
    for (std::size_t axis = 0; axis < declared.shape.size() && axis < array.shape.size(); ++axis)
      problem.sizes.emplace(declared.shape[axis], array.shape[axis]);
  };
  constexpr std::string_view prefix = "cotangent.";
  for (std::size_t i = 0; i < call.input_count; ++i) {
    const std::string name = call.inputs[i].name;
    if (name.starts_with(prefix)) {
      const std::string output = name.substr(prefix.size());
      cotangents[output] = read(call.inputs[i].tensor, Element::real);
      if (const auto* declared = spec.output(output)) learn_sizes(*declared, cotangents[output]);
    } else if (const auto* declared = spec.input(name)) {
      problem.inputs[name] = read(call.inputs[i].tensor, declared->element);
      learn_sizes(*declared, problem.inputs[name]);
    }
  }
  for (std::size_t i = 0; i < call.output_count; ++i)
    if (const auto* declared = spec.output(call.outputs[i].name)) {
      const DLTensor& tensor = call.outputs[i].tensor;
      learn_sizes(*declared, {{tensor.shape, tensor.shape + tensor.ndim}, {}});
    }
  for (std::size_t i = 0; i < call.parameter_count; ++i) {
    const attest_parameter& given = call.parameters[i];
    const auto* declared = spec.parameter(given.name);
    if (!declared || !given.given) continue;
    using Type = ParameterDeclaration::Type;
    switch (declared->type) {
      case Type::boolean: problem.parameters[given.name] = given.integer != 0; break;
      case Type::integer: problem.parameters[given.name] = Index{given.integer}; break;
      case Type::real: problem.parameters[given.name] = given.real; break;
      case Type::choice: problem.parameters[given.name] = std::string(given.text); break;
    }
  }
  check(problem);
  return problem;
}

int run(const attest_call* call) {
  try {
    Arrays cotangents;
    const Problem problem = problem_of(*call, cotangents);
    const Arrays results = golden::evaluate_in_double(problem, call->form, cotangents);
    for (std::size_t i = 0; i < call->output_count; ++i) {
      const DLTensor& tensor = call->outputs[i].tensor;
      const auto& values = results.at(call->outputs[i].name).values;
      double* data = reinterpret_cast<double*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
      each_element(tensor, [&](std::size_t flat, Index offset) { data[offset] = values[flat]; });
    }
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(call->error, call->error_size, "%s", error.what());
    return 1;
  }
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
        attest_kernel kernel{id.c_str(), form.name.c_str(), "value", {kDLFloat, 64, 1}, kDLCPU, "nd", conditions.back().c_str(), nullptr, run};
        all.push_back(kernel);
        if (spec.gradient.empty()) continue;
        kernel.reading = "gradient";
        all.push_back(kernel);
      }
    return all;
  }();
  static const attest_plugin plugin{ATTEST_ABI_VERSION, "attest reference", ATTEST_VERSION, kernels.size(), kernels.data()};
  return &plugin;
}

// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/dtype.hpp"
#include "attest/golden/certify.hpp"

/// A call of the C interface as a problem, for plugins that evaluate through the reference.
namespace attest::plugin {

inline DType dtype_of(const DLTensor& tensor) {
  switch (tensor.dtype.code) {
    case kDLFloat: return tensor.dtype.bits == 64 ? DType::f64 : tensor.dtype.bits == 32 ? DType::f32 : DType::f16;
    case kDLBfloat: return DType::bf16;
    case kDLInt: return DType::i64;
    default: return DType::boolean;  // one byte each: unsigned, or DLPack's own type where it has one
  }
}

/// Every element of a tensor of one head, strides respected: visit(flat index, address).
template <class F>
void each_element(const DLTensor& tensor, F&& visit) {
  const Index total = count({tensor.shape, tensor.shape + tensor.ndim}),
              width = static_cast<Index>(size_of(dtype_of(tensor)));
  auto* data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  for (Index flat = 0; flat < total; ++flat) {
    Index rest = flat, offset = 0;
    for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
      offset += rest % tensor.shape[axis] * tensor.strides[axis];
      rest /= tensor.shape[axis];
    }
    visit(static_cast<std::size_t>(flat), data + offset * width);
  }
}

inline Array read(const DLTensor& tensor) {
  Array array{{tensor.shape, tensor.shape + tensor.ndim}, {}};
  array.values.resize(static_cast<std::size_t>(count(array.shape)));
  each_element(tensor,
               [&](std::size_t flat, const std::byte* at) { decode(dtype_of(tensor), at, {&array.values[flat], 1}); });
  return array;
}

inline void write(const DLTensor& tensor, const Array& array) {
  each_element(tensor,
               [&](std::size_t flat, std::byte* at) { encode(dtype_of(tensor), {&array.values[flat], 1}, at); });
}

inline Problem problem_of(const attest_call& call, Arrays& cotangents) {
  Problem problem{&find_spec(call.equation), {}, {}, {}};
  const Spec& spec = *problem.spec;
  const auto learn_sizes = [&](const TensorDeclaration& declared, const std::vector<Index>& shape) {
    for (std::size_t axis = 0; axis < declared.shape.size() && axis < shape.size(); ++axis)
      problem.sizes.emplace(declared.shape[axis], shape[axis]);
  };
  constexpr std::string_view prefix = "cotangent.";
  for (std::size_t i = 0; i < call.input_count; ++i) {
    const std::string name = call.inputs[i].name;
    if (name.starts_with(prefix)) {
      const std::string output = name.substr(prefix.size());
      cotangents[output] = read(call.inputs[i].tensor);
      if (const auto* declared = spec.output(output)) learn_sizes(*declared, cotangents[output].shape);
    } else if (const auto* declared = spec.input(name)) {
      problem.inputs[name] = read(call.inputs[i].tensor);
      learn_sizes(*declared, problem.inputs[name].shape);
    }
  }
  for (std::size_t i = 0; i < call.output_count; ++i)
    if (const auto* declared = spec.output(call.outputs[i].name)) {
      const DLTensor& tensor = call.outputs[i].tensor;
      learn_sizes(*declared, {tensor.shape, tensor.shape + tensor.ndim});
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

/// Answers a call with evaluate(problem, cotangents); an exception becomes the call's error.
template <class F>
int answer(const attest_call* call, F&& evaluate) {
  try {
    Arrays cotangents;
    const Problem problem = problem_of(*call, cotangents);
    const Arrays results = evaluate(problem, cotangents);
    for (std::size_t i = 0; i < call->output_count; ++i)
      write(call->outputs[i].tensor, results.at(call->outputs[i].name));
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(call->error, call->error_size, "%s", error.what());
    return 1;
  }
}

}  // namespace attest::plugin

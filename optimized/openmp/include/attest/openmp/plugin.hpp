// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/choice.hpp"
#include "attest/openmp/tasks.hpp"
#include "attest/view.hpp"

namespace attest::openmp {

/// One head of a call in layout bhnd, with tensors and parameters by name, as a contract's read() and write() want it.
template <class T>
class Head {
public:
  Head(const attest_call& call, Index batch, Index head) : call_(call), batch_(batch), head_(head) {}

  template <class, int Rank>
  View<const T, Rank> input(std::string_view name) const {
    return of<const T, Rank>(find(call_.inputs, call_.input_count, name));
  }
  template <int Rank>
  View<const bool, Rank> boolean_input(std::string_view name) const {
    return of<const bool, Rank>(find(call_.inputs, call_.input_count, name));
  }
  template <int Rank>
  View<const std::int64_t, Rank> integer_input(std::string_view name) const {
    return of<const std::int64_t, Rank>(find(call_.inputs, call_.input_count, name));
  }
  template <class, int Rank>
  View<T, Rank> output(std::string_view name) const {
    return of<T, Rank>(find(call_.outputs, call_.output_count, name));
  }
  bool boolean_parameter(std::string_view name) const { return parameter(name).integer != 0; }
  Index integer_parameter(std::string_view name) const { return parameter(name).integer; }
  double real_parameter(std::string_view name) const { return parameter(name).real; }
  template <Choice E>
  E choice_parameter(std::string_view name) const {
    const char* word = parameter(name).text;
    return choice_of<E>(name, word ? word : "");
  }
  std::optional<double> optional_real_parameter(std::string_view name) const {
    const auto& found = parameter(name);
    return found.given ? std::optional(found.real) : std::nullopt;
  }
  std::optional<Index> optional_integer_parameter(std::string_view name) const {
    const auto& found = parameter(name);
    return found.given ? std::optional<Index>(found.integer) : std::nullopt;
  }

private:
  static const DLTensor* find(const attest_tensor* tensors, std::size_t count, std::string_view name) {
    for (std::size_t i = 0; i < count; ++i)
      if (tensors[i].name == name) return &tensors[i].tensor;
    return nullptr;
  }
  const attest_parameter& parameter(std::string_view name) const {
    for (std::size_t i = 0; i < call_.parameter_count; ++i)
      if (call_.parameters[i].name == name) return call_.parameters[i];
    throw std::invalid_argument("the call has no parameter '" + std::string(name) + "'");
  }
  /// The head's part of a tensor [batch, heads or groups or 1, ...]; absent where the call does not give it.
  template <class U, int Rank>
  View<U, Rank> of(const DLTensor* tensor) const {
    if (!tensor) return {};
    if (tensor->ndim != Rank + 2) throw std::invalid_argument("a tensor of the call has the wrong rank");
    const Index heads = tensor->shape[1];
    const Index mine = heads == heads_ ? head_ : heads == 1 ? 0 : head_ / (heads_ / heads);
    std::array<Index, Rank> extents{}, strides{};
    for (int axis = 0; axis < Rank; ++axis) {
      extents[static_cast<std::size_t>(axis)] = tensor->shape[axis + 2];
      strides[static_cast<std::size_t>(axis)] = tensor->strides[axis + 2];
    }
    auto* data = reinterpret_cast<U*>(static_cast<char*>(tensor->data) + tensor->byte_offset);
    return {data + batch_ * tensor->strides[0] + mine * tensor->strides[1], extents, strides};
  }

  const attest_call& call_;
  Index batch_, head_;
  Index heads_ = call_.outputs[0].tensor.shape[1];
};

/// Whether a call has work for more than one thread: its elements, each used once per row of the first output, which is
/// the most that products of its tensors cost.
inline bool has_work_for_threads(const attest_call& call) {
  constexpr Index kEnough = 1 << 17;
  Index elements = 0;
  const auto count = [&](const attest_tensor* tensors, std::size_t number) {
    for (std::size_t i = 0; i < number; ++i) {
      Index product = 1;
      for (int axis = 0; axis < tensors[i].tensor.ndim; ++axis) product *= tensors[i].tensor.shape[axis];
      elements += product;
    }
  };
  count(call.inputs, call.input_count);
  count(call.outputs, call.output_count);
  const DLTensor& first = call.outputs[0].tensor;
  return elements * (first.ndim > 3 ? std::max<Index>(first.shape[2], 1) : 1) >= kEnough;
}

/// Runs `kernel` once per head of the call. Several heads are tasks of one team, and an engine's tasks within them are
/// shared by the same threads; a head alone has all threads. An exception becomes the call's error.
template <class T, class F>
int over_heads(const attest_call* call, F&& kernel) {
  const Index batch = call->outputs[0].tensor.shape[0], heads = call->outputs[0].tensor.shape[1];
  std::string error;
  const auto one = [&](Index index) {
    try {
      const Head<T> head(*call, index / heads, index % heads);
      kernel(head);
    } catch (const std::exception& exception) {
#pragma omp critical
      error = exception.what();
    }
  };
  if (batch * heads == 1 || !has_work_for_threads(*call)) {
    for (Index index = 0; index < batch * heads; ++index) one(index);
  } else {
#pragma omp parallel
#pragma omp single
    each_task(batch * heads, true, one);
  }
  if (error.empty()) return 0;
  std::snprintf(call->error, call->error_size, "%s", error.c_str());
  return 1;
}

template <class T>
attest_kernel kernel(const char* equation, const char* form, int (*run)(const attest_call*)) {
  return {equation, form, "value", {kDLFloat, sizeof(T) * 8, 1}, kDLCPU, "bhnd", "hidden_nan == true", nullptr, run};
}

/// Every kernel of this backend; generated from specs/.
std::vector<attest_kernel> all_kernels();

}  // namespace attest::openmp

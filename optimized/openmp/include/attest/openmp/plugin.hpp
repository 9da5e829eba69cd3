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

enum class Layout { bhnd, bnhd, thd };

/// A tensor that begins with tokens: the size that counts them, and whether it is a matrix whose rows are tokens.
struct Tokens {
  std::string_view tensor, size;
  bool matrix;
};

/// How the tensors of an equation lie in a call (attest_kernel.h).
struct Placement {
  Layout layout = Layout::bhnd;
  std::vector<Tokens> inputs, outputs;  // those that begin with tokens; empty under bhnd

  /// The tensor's entry where the axis of heads stands behind its tokens; else null.
  const Tokens* heads_behind(const std::vector<Tokens>& tensors, std::string_view name) const {
    for (const Tokens& one : tensors)
      if (one.tensor == name) return layout == Layout::thd || (layout == Layout::bnhd && one.matrix) ? &one : nullptr;
    return nullptr;
  }
  /// The axis of heads of a tensor.
  int heads_axis(const Tokens* behind) const { return !behind ? 1 : layout == Layout::thd ? 1 : 2; }
};

/// A call and how its tensors lie.
class Batch {
public:
  Batch(const attest_call& call, const Placement& placement) : call_(call), placement_(placement) {
    const attest_tensor& first = call.outputs[0];
    heads_ = first.tensor.shape[placement.heads_axis(placement.heads_behind(placement.outputs, first.name))];
    entries_ = first.tensor.shape[0];
    if (placement.layout == Layout::thd) {
      const std::vector<Tokens>& counted = placement.outputs.empty() ? placement.inputs : placement.outputs;
      entries_ = offsets(counted[0].size).shape[0] - 1;
    }
  }

  Index entries() const { return entries_; }
  Index heads() const { return heads_; }
  const attest_call& call() const { return call_; }

  template <class U, int Rank>
  View<U, Rank> input(std::string_view name, Index entry, Index head) const {
    return of<U, Rank>(find(call_.inputs, call_.input_count, name), placement_.heads_behind(placement_.inputs, name),
                       entry, head);
  }
  template <class U, int Rank>
  View<U, Rank> output(std::string_view name, Index entry, Index head) const {
    return of<U, Rank>(find(call_.outputs, call_.output_count, name), placement_.heads_behind(placement_.outputs, name),
                       entry, head);
  }

private:
  static const DLTensor* find(const attest_tensor* tensors, std::size_t count, std::string_view name) {
    for (std::size_t i = 0; i < count; ++i)
      if (tensors[i].name == name) return &tensors[i].tensor;
    return nullptr;
  }
  template <class U>
  static U* data(const DLTensor& tensor) {
    return reinterpret_cast<U*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
  }
  /// Where the sequences begin along a size of tokens, and where the last one ends.
  const DLTensor& offsets(std::string_view size) const {
    const DLTensor* found = find(call_.inputs, call_.input_count, "offsets." + std::string(size));
    if (!found) throw std::invalid_argument("the call has no offsets of '" + std::string(size) + "'");
    return *found;
  }

  /// The part of one entry of the batch and one head, whose tensor may be shared: by its group, or by all. Absent where
  /// the call does not give the tensor.
  template <class U, int Rank>
  View<U, Rank> of(const DLTensor* tensor, const Tokens* behind, Index entry, Index head) const {
    if (!tensor) return {};
    const bool packed = behind && placement_.layout == Layout::thd;
    if (tensor->ndim != Rank + (packed ? 1 : 2)) throw std::invalid_argument("a tensor of the call has the wrong rank");
    const int heads_axis = placement_.heads_axis(behind);
    std::array<Index, Rank> extents{}, strides{};
    for (int axis = 0, theirs = packed ? 0 : 1; axis < Rank; ++axis, ++theirs) {
      if (theirs == heads_axis) ++theirs;
      extents[static_cast<std::size_t>(axis)] = tensor->shape[theirs];
      strides[static_cast<std::size_t>(axis)] = tensor->strides[theirs];
    }
    Index first = entry;  // along the first axis: of the batch, or of all tokens
    if constexpr (Rank > 0)
      if (packed) {
        const DLTensor& table = offsets(behind->size);
        const auto at = [&](Index i) { return data<const std::int64_t>(table)[i * table.strides[0]]; };
        first = at(entry);
        extents[0] = at(entry + 1) - first;
      }
    const Index heads = tensor->shape[heads_axis];
    const Index mine = heads == heads_ ? head : heads == 1 ? 0 : head / (heads_ / heads);
    return {data<U>(*tensor) + first * tensor->strides[0] + mine * tensor->strides[heads_axis], extents, strides};
  }

  const attest_call& call_;
  const Placement& placement_;
  Index entries_ = 0, heads_ = 0;
};

/// One head of a call, with tensors and parameters by name, as a contract's read() and write() want it.
template <class T>
class Head {
public:
  Head(const Batch& batch, Index entry, Index head) : batch_(batch), entry_(entry), head_(head) {}

  template <class, int Rank>
  View<const T, Rank> input(std::string_view name) const {
    return batch_.input<const T, Rank>(name, entry_, head_);
  }
  template <int Rank>
  View<const bool, Rank> boolean_input(std::string_view name) const {
    return batch_.input<const bool, Rank>(name, entry_, head_);
  }
  template <int Rank>
  View<const std::int64_t, Rank> integer_input(std::string_view name) const {
    return batch_.input<const std::int64_t, Rank>(name, entry_, head_);
  }
  template <class, int Rank>
  View<T, Rank> output(std::string_view name) const {
    return batch_.output<T, Rank>(name, entry_, head_);
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
  const attest_parameter& parameter(std::string_view name) const {
    const attest_call& call = batch_.call();
    for (std::size_t i = 0; i < call.parameter_count; ++i)
      if (call.parameters[i].name == name) return call.parameters[i];
    throw std::invalid_argument("the call has no parameter '" + std::string(name) + "'");
  }

  const Batch& batch_;
  Index entry_, head_;
};

/// Whether a call has work for more than one thread: its elements, each used once per row of the first output, which is
/// the most that products of its tensors cost.
inline bool has_work_for_threads(const attest_call& call, Layout layout) {
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
  const int rows = layout == Layout::bhnd ? 2 : layout == Layout::bnhd ? 1 : 0;
  return elements * (first.ndim > (layout == Layout::thd ? 2 : 3) ? std::max<Index>(first.shape[rows], 1) : 1) >=
         kEnough;
}

/// Runs `kernel` once per head of the call. Several heads are tasks of one team, and an engine's tasks within them are
/// shared by the same threads; a head alone has all threads. An exception becomes the call's error.
template <class T, class F>
int over_heads(const attest_call* call, const Placement& placement, F&& kernel) try {
  const Batch batch(*call, placement);
  const Index count = batch.entries() * batch.heads();
  std::string error;
  const auto one = [&](Index index) {
    try {
      const Head<T> head(batch, index / batch.heads(), index % batch.heads());
      kernel(head);
    } catch (const std::exception& exception) {
#pragma omp critical
      error = exception.what();
    }
  };
  if (count == 1 || !has_work_for_threads(*call, placement.layout)) {
    for (Index index = 0; index < count; ++index) one(index);
  } else {
#pragma omp parallel
#pragma omp single
    each_task(count, true, one);
  }
  if (!error.empty()) throw std::runtime_error(error);
  return 0;
} catch (const std::exception& exception) {
  std::snprintf(call->error, call->error_size, "%s", exception.what());
  return 1;
}

template <class T>
attest_kernel kernel(const char* equation, const char* form, const char* layout, const char* capabilities,
                     int (*run)(const attest_call*)) {
  return {equation, form, "value", {kDLFloat, sizeof(T) * 8, 1}, kDLCPU, layout, capabilities, nullptr, run};
}

/// Every kernel of this backend; generated from specs/.
std::vector<attest_kernel> all_kernels();

}  // namespace attest::openmp

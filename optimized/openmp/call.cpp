// SPDX-License-Identifier: MIT
// A kernel's call, head by head: compiled once, since no type of element and no equation changes it.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "attest/openmp/plugin.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp {
namespace {

/// The tensor's entry where the axis of heads stands behind its tokens; else null.
const Tokens* heads_behind(Layout layout, const std::vector<Tokens>& tensors, std::string_view name) {
  for (const Tokens& one : tensors)
    if (one.tensor == name) return layout == Layout::thd || (layout == Layout::bnhd && one.matrix) ? &one : nullptr;
  return nullptr;
}

/// The axis of heads of a tensor.
int heads_axis(Layout layout, const Tokens* behind) { return !behind ? 1 : layout == Layout::thd ? 1 : 2; }

const DLTensor* named(const attest_tensor* tensors, std::size_t count, std::string_view name) {
  for (std::size_t i = 0; i < count; ++i)
    if (tensors[i].name == name) return &tensors[i].tensor;
  return nullptr;
}

char* first_of(const DLTensor& tensor) { return static_cast<char*>(tensor.data) + tensor.byte_offset; }

/// Whether a call has work for more than one thread: its elements, each used once per row of the first output, which is
/// the most that products of its tensors cost.
bool has_work_for_threads(const attest_call& call, Layout layout) {
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

}  // namespace

Batch::Batch(const attest_call& call, const Placement& placement) : call_(call), placement_(placement) {
  const attest_tensor& first = call.outputs[0];
  const Tokens* behind = heads_behind(placement.layout, placement.outputs, first.name);
  heads_ = first.tensor.shape[heads_axis(placement.layout, behind)];
  entries_ = first.tensor.shape[0];
  if (placement.layout == Layout::thd) {
    const std::vector<Tokens>& counted = placement.outputs.empty() ? placement.inputs : placement.outputs;
    entries_ = offsets(counted[0].size).shape[0] - 1;
  }
}

void Batch::input(std::string_view name, Index entry, Index head, Part& part) const {
  find(named(call_.inputs, call_.input_count, name), heads_behind(placement_.layout, placement_.inputs, name), entry,
       head, part);
}

void Batch::output(std::string_view name, Index entry, Index head, Part& part) const {
  find(named(call_.outputs, call_.output_count, name), heads_behind(placement_.layout, placement_.outputs, name), entry,
       head, part);
}

/// Where the sequences begin along a size of tokens, and where the last one ends.
const DLTensor& Batch::offsets(std::string_view size) const {
  const DLTensor* found = named(call_.inputs, call_.input_count, "offsets." + std::string(size));
  if (!found) throw std::invalid_argument("the call has no offsets of '" + std::string(size) + "'");
  return *found;
}

void Batch::find(const DLTensor* tensor, const Tokens* behind, Index entry, Index head, Part& part) const {
  if (!tensor) return;
  const bool packed = behind && placement_.layout == Layout::thd;
  if (tensor->ndim != part.rank + (packed ? 1 : 2))
    throw std::invalid_argument("a tensor of the call has the wrong rank");
  const int at_heads = heads_axis(placement_.layout, behind);
  for (int axis = 0, theirs = packed ? 0 : 1; axis < part.rank; ++axis, ++theirs) {
    if (theirs == at_heads) ++theirs;
    part.extents[axis] = tensor->shape[theirs];
    part.strides[axis] = tensor->strides[theirs];
  }
  Index first = entry;  // along the first axis: of the batch, or of all tokens
  if (packed) {
    const DLTensor& table = offsets(behind->size);
    const auto at = [&](Index i) {
      return reinterpret_cast<const std::int64_t*>(first_of(table))[i * table.strides[0]];
    };
    first = at(entry);
    part.extents[0] = at(entry + 1) - first;
  }
  const Index heads = tensor->shape[at_heads];
  const Index mine = heads == heads_ ? head : heads == 1 ? 0 : head / (heads_ / heads);
  const Index before = first * tensor->strides[0] + mine * tensor->strides[at_heads];
  part.data = first_of(*tensor) + before * (tensor->dtype.bits / 8);
}

const attest_parameter& Head::parameter(std::string_view name) const {
  const attest_call& call = batch_.call();
  for (std::size_t i = 0; i < call.parameter_count; ++i)
    if (call.parameters[i].name == name) return call.parameters[i];
  throw std::invalid_argument("the call has no parameter '" + std::string(name) + "'");
}

int over_heads(const attest_call* call, const Placement& placement, void (*kernel)(const Head& head)) try {
  const Batch batch(*call, placement);
  const Index count = batch.entries() * batch.heads();
  std::string error;
  const auto one = [&](Index index) {
    try {
      kernel(Head(batch, index / batch.heads(), index % batch.heads()));
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

}  // namespace attest::openmp

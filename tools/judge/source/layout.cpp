// SPDX-License-Identifier: MIT
#include "attest/judge/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/judge/process.hpp"
#include "attest/tokens.hpp"

namespace attest::judge {
namespace {

bool is_one_of(const std::vector<std::string>& sizes, const std::string& size) {
  return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
}

bool is_paged(const Kernel& kernel, const TensorDeclaration& tensor) {
  return kernel.paged() && !tensor.shape.empty() && is_one_of(kernel.paged_sizes(), tensor.shape[0]);
}

/// Whether the heads stand behind the tokens: in tensors [tokens, width] under bnhd and pkv, in all that begin with
/// tokens under thd, in all that are paged.
bool heads_behind_tokens(const Kernel& kernel, const TensorDeclaration& tensor) {
  if (kernel.packed()) return begins_with_tokens(*kernel.spec, tensor);
  if (is_paged(kernel, tensor)) return true;
  return (kernel.info.layout == "bnhd" || kernel.paged()) && has_tokens_as_rows(*kernel.spec, tensor);
}

/// The first axis of the call's tensor that counts tokens, which ranks have parts of, and its size; a kernel of one
/// process has all of each tensor.
template <class Tensor>
Tensor shared_out(Tensor tensor, const TensorDeclaration& declared, const Kernel& kernel) {
  if (!kernel.capabilities.collective()) return tensor;
  for (std::size_t axis = 0; axis < declared.shape.size() && tensor.token_axis < 0; ++axis)
    if (counts_tokens(*kernel.spec, declared.shape[axis])) {
      const int in_front = !kernel.batched() ? 0 : heads_behind_tokens(kernel, declared) ? 1 : 2;
      tensor.token_axis = static_cast<int>(axis) + in_front;
      tensor.tokens = declared.shape[axis];
    }
  return tensor;
}

DType dtype_of(const TensorDeclaration& tensor, const golden::Profile& profile) {
  if (tensor.element == attest::Element::boolean) return DType::boolean;
  if (tensor.element == attest::Element::integer) return DType::i64;
  return tensor.state ? profile.state : profile.storage;
}

Index heads_of(const TensorDeclaration& tensor, const Batch& batch) {
  return tensor.sharing == Sharing::head ? batch.heads : tensor.sharing == Sharing::group ? batch.groups : 1;
}

const Sizes& sizes_of(const Batch& batch, Index entry) {
  return batch.problems[static_cast<std::size_t>(entry * batch.heads)].sizes;
}

/// Where each entry of the batch begins along a size that is packed, and where the last one ends.
std::vector<Index> offsets_of(const std::string& size, const Batch& batch) {
  std::vector<Index> offsets{0};
  for (Index b = 0; b < batch.batch; ++b) offsets.push_back(offsets.back() + sizes_of(batch, b).at(size));
  return offsets;
}

/// Where the rows of each sequence lie under layout pkv.
struct Pages {
  Index length = 1;                    // rows of a page
  Index count = 0;                     // pages in the pool; some belong to no sequence
  std::vector<std::vector<Index>> of;  // by sequence, in the order of its rows

  Index slot(Index sequence, Index row) const {
    return of[static_cast<std::size_t>(sequence)][static_cast<std::size_t>(row / length)] * length + row % length;
  }
};

/// Pages in an order that is not that of the sequences, the same for equal batches.
Pages pages_of(const std::string& size, const Kernel& kernel, const Batch& batch) {
  Pages pages;
  pages.length = page_length(kernel, batch);
  for (Index b = 0; b < batch.batch; ++b)
    pages.of.emplace_back(static_cast<std::size_t>((sizes_of(batch, b).at(size) + pages.length - 1) / pages.length));
  for (const auto& sequence : pages.of) pages.count += static_cast<Index>(sequence.size());
  pages.count += 1 + pages.count / 4;
  std::vector<Index> order(static_cast<std::size_t>(pages.count));
  std::iota(order.begin(), order.end(), Index{0});
  std::mt19937_64 random(static_cast<std::uint64_t>(pages.count));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  std::size_t next = 0;
  for (auto& sequence : pages.of)
    for (Index& page : sequence) page = order[next++];
  return pages;
}

std::vector<Index> shape_in_call(const TensorDeclaration& tensor, const Kernel& kernel, const Batch& batch) {
  std::vector<Index> shape = shape_of(tensor, sizes_of(batch, 0));
  if (!kernel.batched()) return shape;
  const Index heads = heads_of(tensor, batch);
  if (is_paged(kernel, tensor)) {
    const Pages pages = pages_of(tensor.shape[0], kernel, batch);
    shape[0] = pages.count;
    shape.insert(shape.begin() + 1, {pages.length, heads});
  } else if (heads_behind_tokens(kernel, tensor)) {
    shape.insert(shape.begin() + 1, heads);
    if (kernel.packed())
      shape[0] = offsets_of(tensor.shape[0], batch).back();
    else
      shape.insert(shape.begin(), batch.batch);
  } else {
    shape.insert(shape.begin(), {batch.batch, heads});
  }
  return shape;
}

/// Calls visit(problem, first element within the problem's tensor, first element within the call's tensor, elements)
/// for every run of elements that lie together in both.
template <class F>
void each_run(const TensorDeclaration& tensor, const Kernel& kernel, const Batch& batch, F&& visit) {
  const Index heads = heads_of(tensor, batch), per_head = batch.heads / heads;
  const Pages pages = is_paged(kernel, tensor) ? pages_of(tensor.shape[0], kernel, batch) : Pages{};
  Index rows = 0;  // of the entries before, in front of the axis of heads
  for (Index b = 0; b < batch.batch; ++b) {
    const auto shape = shape_of(tensor, sizes_of(batch, b));
    const Index in_front = heads_behind_tokens(kernel, tensor) ? shape[0] : 1;
    const Index size = count(shape), behind = in_front == 0 ? 0 : size / in_front;
    for (Index h = 0; h < heads; ++h)
      for (Index i = 0; i < in_front; ++i) {
        const Index row = pages.count > 0 ? pages.slot(b, i) : rows + i;
        visit(static_cast<std::size_t>(b * batch.heads + h * per_head), i * behind, (row * heads + h) * behind, behind);
      }
    rows += in_front;
  }
}

/// Its bytes are 0.
InputTensor zeros(const std::string& name, DType dtype, std::vector<Index> shape) {
  InputTensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.bytes.resize(static_cast<std::size_t>(count(shape)) * size_of(dtype));
  tensor.shape = std::move(shape);
  return tensor;
}

InputTensor table(const std::string& name, std::vector<Index> shape, const std::vector<double>& entries) {
  InputTensor tensor = zeros(name, DType::i64, std::move(shape));
  encode(tensor.dtype, entries, tensor.bytes.data());
  tensor.is_table = true;
  return tensor;
}

InputTensor input_tensor(const std::string& name, const TensorDeclaration& declared, const Kernel& kernel,
                         const Batch& batch, const golden::Profile& profile,
                         const std::function<const Array&(std::size_t)>& of) {
  InputTensor tensor = zeros(name, dtype_of(declared, profile), shape_in_call(declared, kernel, batch));
  const std::size_t width = size_of(tensor.dtype);
  std::vector<const double*> given;
  for (std::size_t p = 0; p < batch.problems.size(); ++p) given.push_back(of(p).values.data());
  if (is_paged(kernel, declared)) {  // slots that belong to no sequence keep rows of earlier ones
    const auto& earlier = of(0).values;
    std::vector<double> values(tensor.bytes.size() / width);
    const bool hidden_nan = kernel.capabilities.hidden_nan().value_or(false);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = hidden_nan        ? std::numeric_limits<double>::quiet_NaN()
                  : earlier.empty() ? 0
                                    : earlier[earlier.size() - 1 - i % earlier.size()];
    encode(tensor.dtype, values, tensor.bytes.data());
  }
  each_run(declared, kernel, batch, [&](std::size_t problem, Index from, Index to, Index elements) {
    encode(tensor.dtype, {given[problem] + from, static_cast<std::size_t>(elements)},
           tensor.bytes.data() + static_cast<std::size_t>(to) * width);
  });
  return shared_out(std::move(tensor), declared, kernel);
}

/// Name in the call, and the declaration it is shaped by.
std::vector<std::pair<std::string, const TensorDeclaration*>> results_of(const Kernel& kernel, const Problem& problem) {
  std::vector<std::pair<std::string, const TensorDeclaration*>> results;
  if (kernel.is_gradient()) {
    for (const auto& name : kernel.spec->gradient)
      if (problem.inputs.count(name)) results.emplace_back(golden::gradient_of(name), kernel.spec->input(name));
  } else {
    for (const auto& output : kernel.spec->outputs)
      if (!output.optional || kernel.capabilities.gives(output.name)) results.emplace_back(output.name, &output);
  }
  return results;
}

/// Why the kernel's layout cannot hold sequences of unequal lengths in the tensors that the kernel may be given; empty
/// where it can.
std::string not_ragged(const Kernel& kernel) {
  if (kernel.token_sizes().empty()) return "it has no axis of tokens";
  if (kernel.ragged_sizes().empty()) return "its outputs have every axis of tokens";
  for (const auto* tensors : {&kernel.spec->inputs, &kernel.spec->outputs})
    for (const auto& tensor : *tensors) {
      if (tensor.optional && !kernel.capabilities.gives(tensor.name)) continue;
      for (std::size_t axis = 1; axis < tensor.shape.size(); ++axis)
        if (is_one_of(kernel.ragged_sizes(), tensor.shape[axis]))
          return fmt::format(
              "'{}' [{}] has an axis of tokens that is not its first{}", tensor.name, fmt::join(tensor.shape, ", "),
              tensor.optional ? fmt::format("; a kernel without it says '{} == false'", tensor.name) : "");
    }
  return "";
}

ParameterValue parameter_value(const std::string& name, const std::optional<ParameterSetting>& value) {
  ParameterValue parameter;
  parameter.name = name;
  parameter.given = value.has_value();
  if (!value) return parameter;
  if (const auto* flag = std::get_if<bool>(&*value)) parameter.integer = *flag;
  if (const auto* real = std::get_if<double>(&*value)) parameter.real = *real;
  if (const auto* text = std::get_if<std::string>(&*value)) parameter.text = *text;
  if (const auto* integer = std::get_if<Index>(&*value)) {
    parameter.integer = *integer;
    parameter.real = static_cast<double>(*integer);
  }
  return parameter;
}

}  // namespace

void check_layout(const Kernel& kernel) {
  if (std::find(kLayouts.begin(), kLayouts.end(), kernel.info.layout) == kLayouts.end())
    throw InvalidCandidate(
        fmt::format("layout '{}' is not known; allowed: {}", kernel.info.layout, fmt::join(kLayouts, ", ")));
  if (!kernel.packed() && !kernel.paged()) return;
  if (kernel.capabilities.collective())
    throw InvalidCandidate(
        fmt::format("a kernel of several ranks has layout nd, bhnd or bnhd, not '{}'", kernel.info.layout));
  if (kernel.paged() && kernel.is_gradient())
    throw InvalidCandidate(fmt::format("{}: gradients have no layout 'pkv'", kernel.spec->id));
  if (const std::string why = not_ragged(kernel); !why.empty())
    throw InvalidCandidate(fmt::format("{} cannot be {}, as layout '{}' asks for: {}", kernel.spec->id,
                                       kernel.packed() ? "packed" : "paged", kernel.info.layout, why));
}

Index page_length(const Kernel& kernel, const Batch& batch) {
  const auto& lengths = kernel.capabilities.page_lengths();
  Index rows = 0;
  for (Index b = 0; b < batch.batch; ++b)
    for (const auto& size : kernel.paged_sizes()) rows += sizes_of(batch, b).at(size);
  return lengths[static_cast<std::size_t>(rows) % lengths.size()];
}

Request assemble(const Batch& batch, const Kernel& kernel, const golden::Profile& profile) {
  const Problem& first = batch.problems[0];
  Request request;
  request.equation = kernel.info.equation;
  request.form = kernel.info.form;
  request.collective = kernel.capabilities.collective();
  request.zigzag = kernel.capabilities.zigzag();
  for (const auto& input : kernel.spec->inputs)
    if (first.inputs.count(input.name))
      request.inputs.push_back(
          input_tensor(input.name, input, kernel, batch, profile,
                       [&](std::size_t p) -> const Array& { return batch.problems[p].inputs.at(input.name); }));
  if (kernel.is_gradient())
    for (const auto& output : kernel.spec->outputs)
      request.inputs.push_back(
          input_tensor("cotangent." + output.name, output, kernel, batch, profile,
                       [&](std::size_t p) -> const Array& { return batch.cotangents[p].at(output.name); }));
  if (kernel.packed())
    for (const auto& size : kernel.token_sizes()) {
      const auto offsets = offsets_of(size, batch);
      request.inputs.push_back(table("offsets." + size, {batch.batch + 1}, {offsets.begin(), offsets.end()}));
    }
  if (kernel.paged())
    for (const auto& size : kernel.paged_sizes()) {
      const Pages pages = pages_of(size, kernel, batch);
      std::size_t widest = 1;
      for (const auto& sequence : pages.of) widest = std::max(widest, sequence.size());
      std::vector<double> entries(pages.of.size() * widest), lengths;
      for (std::size_t b = 0; b < pages.of.size(); ++b) {
        std::copy(pages.of[b].begin(), pages.of[b].end(), entries.begin() + static_cast<std::ptrdiff_t>(b * widest));
        lengths.push_back(static_cast<double>(sizes_of(batch, static_cast<Index>(b)).at(size)));
      }
      request.inputs.push_back(table("pages." + size, {batch.batch, static_cast<Index>(widest)}, entries));
      request.inputs.push_back(table("lengths." + size, {batch.batch}, lengths));
    }
  for (const auto& [name, declared] : results_of(kernel, first))
    request.outputs.push_back(shared_out(
        TensorSpec{name, dtype_of(*declared, profile), shape_in_call(*declared, kernel, batch)}, *declared, kernel));
  for (const auto& declared : kernel.spec->parameters)
    request.parameters.push_back(parameter_value(declared.name, setting(first, declared.name)));
  return request;
}

std::vector<Arrays> disassemble(const Batch& batch, const Kernel& kernel, const Request& request,
                                const std::vector<std::vector<std::byte>>& outputs) {
  std::vector<Arrays> results(batch.problems.size());
  const auto declared = results_of(kernel, batch.problems[0]);
  for (std::size_t o = 0; o < declared.size(); ++o) {
    const std::string& name = declared[o].first;
    const TensorDeclaration* tensor = declared[o].second;
    const DType dtype = request.outputs[o].dtype;
    const std::size_t width = size_of(dtype);
    std::vector<double*> of;
    for (std::size_t p = 0; p < results.size(); ++p) {
      Array& result = results[p][name];
      result.shape = shape_of(*tensor, batch.problems[p].sizes);
      result.values.resize(static_cast<std::size_t>(count(result.shape)));
      of.push_back(result.values.data());
    }
    each_run(*tensor, kernel, batch, [&](std::size_t p, Index to, Index from, Index elements) {
      decode(dtype, outputs[o].data() + static_cast<std::size_t>(from) * width,
             {of[p] + to, static_cast<std::size_t>(elements)});
    });
    // Tensors that the heads of a group share are the same for all of them.
    const std::size_t per_head = static_cast<std::size_t>(batch.heads / heads_of(*tensor, batch));
    for (std::size_t p = 0; p < results.size(); ++p)
      if (p % per_head != 0) results[p][name] = results[p - p % per_head][name];
  }
  return results;
}

}  // namespace attest::judge

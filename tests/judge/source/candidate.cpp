// SPDX-License-Identifier: MIT
#include "attest/judge/candidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "attest/judge/check.hpp"

namespace attest::judge {
namespace {

bool batched(const Kernel& kernel) { return kernel.info.layout != "nd"; }

/// Token-major tensors, [tokens, width], are what bnhd interleaves heads into.
bool interleaved(const Kernel& kernel, const TensorDeclaration& tensor) {
  if (kernel.info.layout != "bnhd" || tensor.state || tensor.shape.size() != 2) return false;
  return kernel.spec->size(tensor.shape[0])->tokens && !kernel.spec->size(tensor.shape[1])->tokens;
}

DType dtype_of(const TensorDeclaration& tensor, const golden::Profile& profile) {
  if (tensor.element == attest::Element::boolean) return DType::boolean;
  if (tensor.element == attest::Element::integer) return DType::i64;
  return tensor.state ? profile.state : profile.storage;
}

Index heads_of(const TensorDeclaration& tensor, const Batch& batch) {
  return tensor.sharing == Sharing::head ? batch.heads : tensor.sharing == Sharing::group ? batch.groups : 1;
}

std::vector<Index> shape_in_call(const TensorDeclaration& tensor, const Kernel& kernel, const Batch& batch) {
  std::vector<Index> shape = shape_of(tensor, batch.problems[0].sizes);
  if (!batched(kernel)) return shape;
  const Index heads = heads_of(tensor, batch);
  if (interleaved(kernel, tensor)) return {batch.batch, shape[0], heads, shape[1]};
  shape.insert(shape.begin(), {batch.batch, heads});
  return shape;
}

/// Calls visit(problem, element within the problem's tensor, element within the call's tensor) for every element.
template <class F>
void each_element(const TensorDeclaration& tensor, const Kernel& kernel, const Batch& batch, F&& visit) {
  const auto shape = shape_of(tensor, batch.problems[0].sizes);
  const Index size = count(shape), heads = heads_of(tensor, batch);
  const Index per_head = batch.heads / heads;
  for (Index b = 0; b < batch.batch; ++b)
    for (Index h = 0; h < heads; ++h) {
      const auto problem = static_cast<std::size_t>(b * batch.heads + h * per_head);
      for (Index i = 0; i < size; ++i) {
        Index at = (b * heads + h) * size + i;
        if (interleaved(kernel, tensor)) {
          const Index row = i / shape[1], column = i % shape[1];
          at = ((b * shape[0] + row) * heads + h) * shape[1] + column;
        }
        visit(problem, static_cast<std::size_t>(i), static_cast<std::size_t>(at));
      }
    }
}

InputTensor input_tensor(const std::string& name, const TensorDeclaration& declared, const Kernel& kernel, const Batch& batch,
                         const golden::Profile& profile, const std::function<const Array&(std::size_t)>& of) {
  InputTensor tensor;
  tensor.name = name;
  tensor.dtype = dtype_of(declared, profile);
  tensor.shape = shape_in_call(declared, kernel, batch);
  std::vector<double> values(static_cast<std::size_t>(count(tensor.shape)));
  each_element(declared, kernel, batch, [&](std::size_t problem, std::size_t i, std::size_t at) { values[at] = of(problem).values[i]; });
  tensor.bytes.resize(values.size() * size_of(tensor.dtype));
  encode(tensor.dtype, values, tensor.bytes.data());
  return tensor;
}

/// Name in the call, and the declaration it is shaped by.
std::vector<std::pair<std::string, const TensorDeclaration*>> results_of(const Kernel& kernel, const Problem& problem) {
  std::vector<std::pair<std::string, const TensorDeclaration*>> results;
  if (kernel.info.reading == "gradient") {
    for (const auto& name : kernel.spec->gradient)
      if (problem.inputs.count(name)) results.emplace_back("gradient." + name, kernel.spec->input(name));
  } else {
    for (const auto& output : kernel.spec->outputs)
      if (!output.optional || kernel.capabilities.gives(output.name)) results.emplace_back(output.name, &output);
  }
  return results;
}

bool is_planted(const std::string& name) { return name.starts_with("fault:") || name.starts_with("order:"); }

std::filesystem::path library_of(const std::string& name) {
  const auto plugins = plugin_folder();
  if (name == "openmp" || name == "reference") return plugins / ("libattest_" + name + ".so");
  if (is_planted(name)) return plugins / "libattest_planted.so";
  return name;
}

/// "fault:ID.NAME@X" plants X times the fault's amplitude; "@X" or nothing.
std::string multiple_of(const std::string& name) {
  const auto at = name.find('@');
  if (at == std::string::npos || !name.starts_with("fault:")) return "";
  char* end = nullptr;
  const double multiple = std::strtod(name.c_str() + at + 1, &end);
  if (end == name.c_str() + at + 1 || *end || !std::isfinite(multiple)) throw InvalidCandidate(fmt::format("{}: '@' must be followed by a number, as in @0.25", name));
  return name.substr(at);
}

/// Whether "fault:ID.NAME" or "order:NAME" (globs) means that planted kernel.
bool is_meant(const std::string& name, const KernelInfo& info) {
  const std::string kind = name.substr(0, 6), pattern = name.substr(6, name.find('@') - 6);
  if (!info.form.starts_with(kind)) return false;
  const std::string rest = info.form.substr(6);
  return kind == "fault:" ? matches(pattern, info.equation + "." + rest) : matches(pattern, rest.substr(0, rest.find(':')));
}

[[noreturn]] void nothing_planted(const std::string& name, const std::vector<KernelInfo>& infos) {
  std::vector<std::string> names;
  for (const auto& info : infos) {
    if (!info.form.starts_with(name.substr(0, 6))) continue;
    const std::string rest = info.form.substr(6);
    names.push_back(name.starts_with("fault:") ? info.equation + "." + rest : rest.substr(0, rest.find(':')));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string near = near_names(name.substr(6), names);
  throw InvalidCandidate(fmt::format("{} names nothing that is planted{}", name,
                                     near.empty() && name.starts_with("order:") ? fmt::format("; orders: {}", fmt::join(names, ", "))
                                     : near.empty() ? "; `attest show ID` lists the faults of an equation" : near));
}

}  // namespace

std::filesystem::path plugin_folder() {
  const char* folder = std::getenv("ATTEST_PLUGIN_DIR");
  return folder ? folder : ATTEST_PLUGIN_DIR;
}

std::string Kernel::name() const {
  return fmt::format("{} {}{} {}", info.equation, info.form.empty() ? "-" : info.form, info.reading == "gradient" ? " gradient" : "",
                     attest::name(info.dtype));
}

Request assemble(const Batch& batch, const Kernel& kernel, const golden::Profile& profile) {
  const Problem& first = batch.problems[0];
  Request request;
  request.equation = kernel.info.equation;
  request.form = kernel.info.form;
  for (const auto& input : kernel.spec->inputs)
    if (first.inputs.count(input.name))
      request.inputs.push_back(input_tensor(input.name, input, kernel, batch, profile,
                                            [&](std::size_t p) -> const Array& { return batch.problems[p].inputs.at(input.name); }));
  if (kernel.info.reading == "gradient")
    for (const auto& output : kernel.spec->outputs)
      request.inputs.push_back(input_tensor("cotangent." + output.name, output, kernel, batch, profile,
                                            [&](std::size_t p) -> const Array& { return batch.cotangents[p].at(output.name); }));
  for (const auto& [name, declared] : results_of(kernel, first))
    request.outputs.push_back({name, dtype_of(*declared, profile), shape_in_call(*declared, kernel, batch)});
  for (const auto& declared : kernel.spec->parameters) {
    ParameterValue parameter;
    parameter.name = declared.name;
    const auto value = setting(first, declared.name);
    parameter.given = value.has_value();
    if (value) {
      if (const auto* flag = std::get_if<bool>(&*value)) parameter.integer = *flag;
      if (const auto* integer = std::get_if<Index>(&*value)) parameter.integer = *integer;
      if (const auto* real = std::get_if<double>(&*value)) parameter.real = *real;
      if (const auto* text = std::get_if<std::string>(&*value)) parameter.text = *text;
      if (const auto* integer = std::get_if<Index>(&*value)) parameter.real = static_cast<double>(*integer);
    }
    request.parameters.push_back(parameter);
  }
  return request;
}

std::vector<Arrays> disassemble(const Batch& batch, const Kernel& kernel, const Request& request,
                                const std::vector<std::vector<std::byte>>& outputs) {
  std::vector<Arrays> results(batch.problems.size());
  const auto declared = results_of(kernel, batch.problems[0]);
  for (std::size_t o = 0; o < declared.size(); ++o) {
    const std::string& name = declared[o].first;
    const TensorDeclaration* tensor = declared[o].second;
    std::vector<double> values(static_cast<std::size_t>(count(request.outputs[o].shape)));
    decode(request.outputs[o].dtype, outputs[o].data(), values);
    for (auto& result : results) {
      result[name].shape = shape_of(*tensor, batch.problems[0].sizes);
      result[name].values.resize(static_cast<std::size_t>(count(result[name].shape)));
    }
    each_element(*tensor, kernel, batch, [&](std::size_t p, std::size_t i, std::size_t at) { results[p][name].values[i] = values[at]; });
    // What heads of a group share is the same for all of them.
    const std::size_t per_head = static_cast<std::size_t>(batch.heads / heads_of(*tensor, batch));
    for (std::size_t p = 0; p < results.size(); ++p) results[p][name] = results[p - p % per_head][name];
  }
  return results;
}

Candidate::Candidate(const std::string& name) : Candidate(name, std::make_unique<PluginProcess>(library_of(name))) {}

Candidate::Candidate(const std::string& name, std::unique_ptr<Host> host) : name_(name), host_(std::move(host)) {
  const auto& infos = host_->kernels();
  if (infos.empty()) throw InvalidCandidate(fmt::format("{}: the plugin's table has no kernels", name));
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (is_planted(name) && !is_meant(name, infos[i])) continue;
    Kernel kernel;
    kernel.index = i;
    kernel.info = infos[i];
    try {
      kernel.spec = &find_spec(kernel.info.equation);
      kernel.capabilities = Capabilities(*kernel.spec, kernel.info.capabilities);
    } catch (const SpecError& error) {
      throw InvalidCandidate(fmt::format("{}: kernel {}: {}", name, i, error.what()));
    }
    if (kernel.info.reading == "gradient" && kernel.spec->gradient.empty())
      throw InvalidCandidate(fmt::format("{}: kernel {}: {} has no gradient reading", name, i, kernel.info.equation));
    if (const std::string multiple = is_planted(name) ? multiple_of(name) : ""; !multiple.empty()) {
      if (kernel.spec->fault(kernel.info.form.substr(6))->amplitude == 0) throw InvalidCandidate(fmt::format("{}: that fault has no amplitude; it is there or it is not", name));
      kernel.info.form += multiple;
    }
    kernels_.push_back(std::move(kernel));
  }
  if (kernels_.empty()) nothing_planted(name, infos);
}

}  // namespace attest::judge

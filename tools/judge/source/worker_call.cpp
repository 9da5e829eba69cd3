// SPDX-License-Identifier: MIT
#include "worker_call.hpp"

#include <bit>
#include <cstring>

#include "worker_table.hpp"

namespace attest::judge {

using protocol::Json;

Call::Call(const Json& request, char* error, const CudaDriver* device) : device_(device) {
  if (device_) device_->begin();
  const Json& tensors = request.at("tensors");
  tensors_.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool input = tensors[i].at("input").get<bool>();
    map(tensors_[i], tensors[i], input);
    (input ? inputs_ : outputs_).push_back({tensors_[i].name.c_str(), tensors_[i].tensor});
  }
  add_parameters(request.at("parameters"));
  equation_ = request.at("equation").get<std::string>();
  form_ = request.at("form").get<std::string>();
  std::memset(error, 0, protocol::error_size);
  call.struct_size = sizeof call;
  call.equation = equation_.c_str();
  call.form = form_.c_str();
  call.inputs = inputs_.data();
  call.input_count = inputs_.size();
  call.outputs = outputs_.data();
  call.output_count = outputs_.size();
  call.parameters = parameters_.data();
  call.parameter_count = parameters_.size();
  call.stream = device_ ? device_->stream() : nullptr;
  call.error = error;
  call.error_size = protocol::error_size;
}

void Call::map(Tensor& tensor, const Json& source, bool input) const {
  tensor.name = source.at("name").get<std::string>();
  tensor.shape = source.at("shape").get<std::vector<std::int64_t>>();
  const std::size_t rank = tensor.shape.size();
  tensor.strides = source.at("strides").get<std::vector<std::int64_t>>();
  // The extra element keeps both pointers non-NULL for rank 0.
  tensor.strides.push_back(1);
  tensor.shape.push_back(1);
  tensor.mapping.map(source, input ? PROT_READ : PROT_READ | PROT_WRITE);
  if (device_) tensor.mapping.send(*device_);
  tensor.tensor.data = tensor.mapping.at(source.at("data").get<std::size_t>());
  tensor.tensor.device = {device_ ? kDLCUDA : kDLCPU, 0};
  tensor.tensor.ndim = static_cast<int>(rank);
  tensor.tensor.dtype = dlpack_type(static_cast<DType>(source.at("dtype").get<int>()));
  tensor.tensor.shape = tensor.shape.data();
  tensor.tensor.strides = tensor.strides.data();
}

void Call::add_parameters(const Json& parameters) {
  texts_.reserve(2 * parameters.size());  // keep() gives out pointers into it
  for (const Json& parameter : parameters) {
    attest_parameter value{};
    value.name = keep(parameter.at("name"));
    value.given = parameter.at("given").get<bool>() ? 1 : 0;
    value.real = std::bit_cast<double>(parameter.at("bits").get<std::uint64_t>());
    value.integer = parameter.at("integer").get<std::int64_t>();
    value.text = parameter.at("text").get_ref<const std::string&>().empty() ? nullptr : keep(parameter.at("text"));
    parameters_.push_back(value);
  }
}

const char* Call::keep(const Json& text) { return texts_.emplace_back(text.get<std::string>()).c_str(); }

void Call::give_workspace(const Json& region, std::size_t size) {
  if (size == 0) return;
  workspace_.map(region, PROT_READ | PROT_WRITE);
  if (device_) workspace_.send(*device_);
  call.workspace = workspace_.at(region.at("front").get<std::size_t>());
  call.workspace_size = size;
}

void Call::fetch() {
  if (!device_) return;
  device_->begin();
  device_->wait();
  for (Tensor& tensor : tensors_) tensor.mapping.fetch(*device_);
  if (workspace_.on_device()) workspace_.fetch(*device_);
}

void Call::unmap() const {
  for (const Tensor& tensor : tensors_) tensor.mapping.unmap();
  workspace_.unmap();
}

}  // namespace attest::judge

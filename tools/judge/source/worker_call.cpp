// SPDX-License-Identifier: MIT
#include "worker_call.hpp"

#include <cstring>
#include <utility>

#include "worker_table.hpp"

namespace attest::judge {

Call::Call(CallMessage message, char* error, const CudaDriver* device) : message_(std::move(message)), device_(device) {
  if (device_) device_->begin();
  tensors_.resize(message_.tensors.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    TensorMessage& source = message_.tensors[i];
    map(tensors_[i], source);
    (source.input ? inputs_ : outputs_).push_back({source.name.c_str(), tensors_[i].tensor});
  }
  add_parameters();
  std::memset(error, 0, protocol::error_size);
  call.struct_size = sizeof call;
  call.equation = message_.equation.c_str();
  call.form = message_.form.c_str();
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

void Call::map(Tensor& tensor, TensorMessage& source) const {
  const std::size_t rank = source.shape.size();
  // The extra element keeps both pointers non-NULL for rank 0.
  source.strides.push_back(1);
  source.shape.push_back(1);
  tensor.mapping.map(source.place, source.input ? PROT_READ : PROT_READ | PROT_WRITE);
  if (device_) tensor.mapping.send(*device_);
  tensor.tensor.data = tensor.mapping.at(source.first);
  tensor.tensor.device = {device_ ? kDLCUDA : kDLCPU, 0};
  tensor.tensor.ndim = static_cast<int>(rank);
  tensor.tensor.dtype = dlpack_type(source.dtype);
  tensor.tensor.shape = source.shape.data();
  tensor.tensor.strides = source.strides.data();
}

void Call::add_parameters() {
  for (const ParameterValue& parameter : message_.parameters) {
    attest_parameter value{};
    value.name = parameter.name.c_str();
    value.given = parameter.given ? 1 : 0;
    value.real = parameter.real;
    value.integer = parameter.integer;
    value.text = parameter.text.empty() ? nullptr : parameter.text.c_str();
    parameters_.push_back(value);
  }
}

void Call::give_workspace(const WorkspaceMessage& granted, std::size_t size) {
  if (size == 0) return;
  workspace_.map(granted.place, PROT_READ | PROT_WRITE);
  if (device_) workspace_.send(*device_);
  call.workspace = workspace_.at(granted.first);
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
  // Their addresses follow each other, with guards between that nothing is mapped at, until the parent starts again.
  Mapping together;
  const auto add = [&](const Mapping& next) {
    if (together.extend_to(next)) return;
    together.unmap();
    together = Mapping();
    together.extend_to(next);
  };
  for (const Tensor& tensor : tensors_) add(tensor.mapping);
  add(workspace_);
  together.unmap();
}

}  // namespace attest::judge

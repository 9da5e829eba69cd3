// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attest/judge/candidate.hpp"

namespace attest::judge {

using Condition = std::function<bool(const Request&)>;

/// Multiplies what a call gave by 1.01, in the heads from `first_head` on.
inline void put_off(const Request& request, Response& response, Index first_head = 0) {
  if (response.end != Response::End::finished) return;
  for (std::size_t o = 0; o < response.outputs.size(); ++o) {
    auto& bytes = response.outputs[o];
    const auto& shape = request.outputs[o].shape;
    std::vector<double> values(bytes.size() / size_of(request.outputs[o].dtype));
    decode(request.outputs[o].dtype, bytes.data(), values);
    const Index heads = shape.size() > 1 ? shape[1] : 1;
    const Index of_head = values.empty() ? 1 : static_cast<Index>(values.size()) / (shape[0] * heads);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (static_cast<Index>(i) / of_head % heads >= first_head) values[i] *= 1.01;
    encode(request.outputs[o].dtype, values, bytes.data());
  }
}

/// Another candidate under its own name; what derives from it changes calls.
class Wrapped : public Host {
public:
  explicit Wrapped(Candidate& right) : right_(right) {}

  const std::string& name() const override { return right_.host().name(); }
  const std::string& version() const override { return right_.host().version(); }
  const std::vector<KernelInfo>& kernels() const override { return right_.host().kernels(); }
  Response call(std::size_t kernel, const Request& request, const CallOptions& options) override {
    return right_.host().call(kernel, request, options);
  }
  std::vector<std::string> settle(std::chrono::milliseconds patience) override {
    return right_.host().settle(patience);
  }
  bool places_outputs() const override { return right_.host().places_outputs(); }

private:
  Candidate& right_;
};

/// Its results are 1 % off where a condition on the call holds.
class OffUnder : public Wrapped {
public:
  OffUnder(Candidate& right, Condition condition) : Wrapped(right), condition_(std::move(condition)) {}

  Response call(std::size_t kernel, const Request& request, const CallOptions& options) override {
    Response response = Wrapped::call(kernel, request, options);
    if (condition_(request)) put_off(request, response);
    return response;
  }

private:
  Condition condition_;
};

/// Returns an error where a condition on the call holds; kernels of softmax attention in that layout say what they do.
class Refusing : public Wrapped {
public:
  Refusing(Candidate& right, Condition condition, const std::string& layout = "", const std::string& says = "")
      : Wrapped(right), condition_(std::move(condition)), kernels_(right.host().kernels()) {
    for (auto& kernel : kernels_)
      if (!says.empty() && kernel.layout == layout && kernel.equation == "attention.scaled_dot_product")
        kernel.capabilities += ";" + says;
  }

  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  Response call(std::size_t kernel, const Request& request, const CallOptions& options) override {
    if (!condition_(request)) return Wrapped::call(kernel, request, options);
    Response refused;
    refused.end = Response::End::refused;
    refused.message = "not that";
    return refused;
  }

private:
  Condition condition_;
  std::vector<KernelInfo> kernels_;
};

}  // namespace attest::judge

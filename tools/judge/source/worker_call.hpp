// SPDX-License-Identifier: MIT
// The C interface's view of one request. Private to the judge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attest/attest_kernel.h"
#include "cuda_driver.hpp"
#include "protocol.hpp"
#include "worker_memory.hpp"

namespace attest::judge {

/// The attest_call of one request and everything that its pointers point to.
class Call {
public:
  /// Maps the tensors, and puts them on the device where one is given; throws CudaError when that cannot be done.
  Call(const protocol::Json& request, char* error, const CudaDriver* device);

  void give_workspace(const protocol::Json& region, std::size_t size);

  /// Waits for the work that the kernel has put on the stream, and brings everything back from the device.
  void fetch();

  void unmap() const;

  attest_call call{};

private:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    Mapping mapping;
    DLTensor tensor{};
  };

  void map(Tensor& tensor, const protocol::Json& source, bool input) const;
  void add_parameters(const protocol::Json& parameters);
  const char* keep(const protocol::Json& text);

  const CudaDriver* device_;
  std::vector<Tensor> tensors_;
  std::vector<attest_tensor> inputs_;
  std::vector<attest_tensor> outputs_;
  std::vector<std::string> texts_;
  std::vector<attest_parameter> parameters_;
  std::string equation_;
  std::string form_;
  Mapping workspace_;
};

}  // namespace attest::judge

// SPDX-License-Identifier: MIT
// The C interface's view of one request. Private to the judge.
#pragma once

#include <cstddef>
#include <vector>

#include "attest/attest_kernel.h"
#include "cuda_driver.hpp"
#include "messages.hpp"
#include "worker_memory.hpp"

namespace attest::judge {

/// The attest_call of one request and everything that its pointers point to.
class Call {
public:
  /// Maps the tensors, and puts them on the device where one is given; throws CudaError when that cannot be done.
  Call(CallMessage message, char* error, const CudaDriver* device);
  Call(const Call&) = delete;  // the kernel's view points into it
  Call& operator=(const Call&) = delete;

  void give_workspace(const WorkspaceMessage& granted, std::size_t size);

  /// Waits for the work that the kernel has put on the stream, and brings everything back from the device.
  void fetch();

  void unmap() const;

  attest_call call{};

private:
  struct Tensor {
    Mapping mapping;
    DLTensor tensor{};
  };

  void map(Tensor& tensor, TensorMessage& source) const;
  void add_parameters();

  CallMessage message_;
  const CudaDriver* device_;
  std::vector<Tensor> tensors_;
  std::vector<attest_tensor> inputs_;
  std::vector<attest_tensor> outputs_;
  std::vector<attest_parameter> parameters_;
  Mapping workspace_;
};

}  // namespace attest::judge

// SPDX-License-Identifier: MIT
#include "attest/cuda/gate.hpp"

namespace attest::cuda::infini::gate {
namespace {

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    cuda::gate<T>(call, call.sequences("n", "a_mem", kGateRows), call.rows("beta"), call.rows("a_mem"),
                  call.rows("a_dot"), call.output_rows("a"));
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    gate_backward<T>(call, call.sequences("n", "a_mem", kGateRows), call.rows("beta"), call.rows("a_mem"),
                     call.rows("a_dot"), call.rows("cotangent.a"), call.output_rows("gradient.a_mem"),
                     call.output_rows("gradient.a_dot"), call.output_rows("gradient.beta"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("infini.gate")
      .value<Value>("complement", {.tf32 = false})
      .gradient<Gradient>("complement", {.tf32 = false})
      .rows();
}

}  // namespace attest::cuda::infini::gate

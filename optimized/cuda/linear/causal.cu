// SPDX-License-Identifier: MIT
#include "attest/cuda/causal.hpp"

namespace attest::cuda::linear::causal {
namespace {

/// o_i = phi_q_i^T S_i / (phi_q_i^T Z_i + eps), and the state behind the last token.
template <Algorithm algorithm>
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Rows phi_q = call.rows("phi_q"), phi_k = call.rows("phi_k"), v = call.rows("v");
    answer<algorithm, T, Factor>(call, {.a = phi_q,
                                        .b = phi_k,
                                        .c = v,
                                        .order = Order::past,
                                        .tokens = call.sequences("n", "phi_q", call.integer("chunk")),
                                        .initial = call.initial("S", "Z", phi_k.width(), v.width()),
                                        .final = call.final("S", "Z", phi_k.width(), v.width()),
                                        .division = {true, static_cast<float>(call.real("eps")), call.choice("zero_denominator") == "nan"},
                                        .answers = call.answers("o")});
  }
};

template <Algorithm algorithm>
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Rows phi_k = call.rows("phi_k"), v = call.rows("v");
    backward<algorithm, T, Factor>(call, {.phi_q = call.rows("phi_q"),
                                          .phi_k = phi_k,
                                          .v = v,
                                          .grad_o = call.rows("cotangent.o"),
                                          .tokens = call.sequences("n", "phi_q", call.integer("chunk")),
                                          .initial = call.initial("S", "Z", phi_k.width(), v.width()),
                                          .grad_final = call.initial("cotangent.S", "cotangent.Z", phi_k.width(), v.width()),
                                          .grad_initial = call.final("gradient.S", "gradient.Z", phi_k.width(), v.width()),
                                          .eps = static_cast<float>(call.real("eps")),
                                          .grad_phi_q = call.answers("gradient.phi_q"),
                                          .grad_phi_k = call.answers("gradient.phi_k"),
                                          .grad_v = call.answers("gradient.v")});
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "c <= 256; m <= 256";
  return Kernels("linear.causal")
      .value<Value<Algorithm::tokens>>("recurrent", {.can = widths, .tf32 = false})
      .value<Value<Algorithm::chunks>>("chunked", {.can = widths})
      .value<Value<Algorithm::parallel>>("two_level", {.can = widths})
      .value<Value<Algorithm::parallel>>("two_level", {.can = widths, .layout = "thd"})
      .gradient<Gradient<Algorithm::tokens>>("recurrent", {.can = widths, .tf32 = false})
      .gradient<Gradient<Algorithm::chunks>>("chunked", {.can = widths, .tf32 = false})
      .gradient<Gradient<Algorithm::parallel>>("two_level", {.can = widths, .tf32 = false})
      .gradient<Gradient<Algorithm::parallel>>("two_level", {.can = widths, .layout = "thd", .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::linear::causal

// SPDX-License-Identifier: MIT
#include "attest/cuda/softmax_attention.hpp"

namespace attest::cuda::attention::scaled_dot_product {
namespace {

struct Online {
  template <class T, class Factor>
  static void run(Call& call) {
    attend_online<T, Factor>(call, logits_of(call, empty_row_of(call, "empty_row")), call.rows("v"),
                             call.output_rows("o"));
  }
};

struct FromStatistics {
  template <class T, class Factor>
  static void run(Call& call) {
    attend_from_statistics<T, Factor>(call, logits_of(call, empty_row_of(call, "empty_row")), call.rows("v"),
                                      call.output_rows("o"));
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    attend_backward<T, Factor>(call, logits_of(call, empty_row_of(call, "empty_row")), gradients_of(call));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
// Without softcap, windows and sinks.
#define PLAIN "d <= 256; m <= 256; softcap == 0; window_left < 0; window_right < 0; not sink; "
  constexpr const char* can = PLAIN "hidden_nan == true";
  constexpr const char* gradient = PLAIN "hidden_nan == true; groups == heads";
  constexpr const char* packed = PLAIN "mask == false; bias == false";
  constexpr const char* packed_gradient = PLAIN "mask == false; bias == false; groups == heads";
#undef PLAIN
  return Kernels("attention.scaled_dot_product")
      .value<Online>("online_blocked", {.can = can})
      .value<Online>("online_blocked", {.can = packed, .layouts = Layouts::thd})
      .value<FromStatistics>("per_query", {.can = can})
      .value<FromStatistics>("per_query", {.can = packed, .layouts = Layouts::thd})
      .gradient<Gradient>("per_query", {.can = gradient})
      .gradient<Gradient>("per_query", {.can = packed_gradient, .layouts = Layouts::thd})
      .rows();
}

}  // namespace attest::cuda::attention::scaled_dot_product

// SPDX-License-Identifier: MIT
#include "attest/cuda/positions.hpp"
#include "attest/spec/positional/sinusoidal.hpp"

namespace attest::cuda::positional::sinusoidal {
namespace {

using spec::positional::sinusoidal::Layout;
using spec::positional::sinusoidal::Timescale;

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kPositionRows);
    const Rows x = call.rows("x");
    const Waves waves{.frequencies = Frequencies::of(
                          call, x.width() / 2.0 - (call.choice<Timescale>("timescale") == Timescale::endpoint ? 1 : 0)),
                      .start = call.integer("start"),
                      .rows = tokens.length,
                      .width = x.width(),
                      .blocks = call.choice<Layout>("layout") == Layout::half};
    call.launch(add_positions<T>, of_chunks(call, tokens), kThreads, 0, tokens, Index{0}, x, waves.table(call),
                call.answers("y"));
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kPositionRows);
    call.launch(add_positions<T>, of_chunks(call, tokens), kThreads, 0, tokens, Index{0}, call.rows("cotangent.y"),
                Rows{}, call.answers("gradient.x"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("positional.sinusoidal")
      .value<Value>("exponential", {.tf32 = false})
      .value<Value>("exponential", {.layout = "thd", .tf32 = false})
      .gradient<Gradient>("exponential", {.tf32 = false})
      .gradient<Gradient>("exponential", {.layout = "thd", .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::positional::sinusoidal

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
    const Sinusoids sinusoids{
        .frequencies = Frequencies::of(
            call, x.width() / 2.0 - (call.choice<Timescale>("timescale") == Timescale::endpoint ? 1 : 0)),
        .start = call.integer("start"),
        .rows = tokens.length,
        .width = x.width(),
        .blocks = call.choice<Layout>("layout") == Layout::half};
    launch_by_chunks(call, add_positions<T>, tokens, Index{0}, x, sinusoids.table(call), call.output_rows("y"));
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kPositionRows);
    launch_by_chunks(call, add_positions<T>, tokens, Index{0}, call.rows("cotangent.y"), Rows{},
                     call.output_rows("gradient.x"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("positional.sinusoidal")
      .value<Value>("exponential", {.layouts = Layouts::both, .tf32 = false})
      .gradient<Gradient>("exponential", {.layouts = Layouts::both, .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::positional::sinusoidal

// SPDX-License-Identifier: MIT
#include "attest/cuda/positions.hpp"
#include "attest/spec/positional/rotary.hpp"

namespace attest::cuda::positional::rotary {
namespace {

using spec::positional::rotary::Pairing;

template <class T>
void turned(Call& call, const char* from, const char* to, float direction) {
  const Sequences tokens = call.sequences("n", from, kPositionRows);
  const Rows x = call.rows(from);
  const Turns turns{.frequencies = Frequencies::of(call, x.width() / 2.0),
                    .positions = call.numbers<const Index>(call.input("positions")),
                    .halves = call.choice<Pairing>("pairing") == Pairing::half};
  const Rows table = turns.table(call, tokens, x.width());
  call.launch(rotate<T>, of_chunks(call, tokens), kThreads, 0, tokens, turns.halves, direction, table, x,
              call.answers(to));
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    turned<T>(call, "x", "y", 1);
  }
};

/// The transpose of a rotation is the rotation back.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    turned<T>(call, "cotangent.y", "gradient.x", -1);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("positional.rotary")
      .value<Value>("pairs", {.tf32 = false})
      .value<Value>("pairs", {.layout = "thd", .tf32 = false})
      .gradient<Gradient>("pairs", {.tf32 = false})
      .gradient<Gradient>("pairs", {.layout = "thd", .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::positional::rotary

// SPDX-License-Identifier: MIT
#include "attest/cuda/positions.hpp"
#include "attest/spec/positional/rotary.hpp"

namespace attest::cuda::positional::rotary {
namespace {

using spec::positional::rotary::Pairing;

template <class T>
void rotated(Call& call, const char* from, const char* to, float direction) {
  const Sequences tokens = call.sequences("n", from, kPositionRows);
  const Rows x = call.rows(from);
  const Rotations rotations{.frequencies = Frequencies::of(call, x.width() / 2.0),
                            .positions = call.numbers<const Index>(call.input("positions")),
                            .halves = call.choice<Pairing>("pairing") == Pairing::half};
  const Rows table = rotations.table(call, tokens, x.width());
  launch_by_chunks(call, rotate<T>, tokens, rotations.halves, direction, table, x, call.output_rows(to));
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    rotated<T>(call, "x", "y", 1);
  }
};

/// The transpose of a rotation is the rotation back.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    rotated<T>(call, "cotangent.y", "gradient.x", -1);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* can = "rotary_width == 0; scaling == 'none'";
  return Kernels("positional.rotary")
      .value<Value>("pairs", {.can = can, .layouts = Layouts::both, .tf32 = false})
      .gradient<Gradient>("pairs", {.can = can, .layouts = Layouts::both, .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::positional::rotary

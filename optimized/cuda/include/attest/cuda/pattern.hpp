// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/softmax_attention.hpp"

/// Softmax attention in which a pattern says what a query sees. An equation gives the pattern, a struct with
///
///     static Pattern from(const Call&);                     the pattern of a call
///     Place place;                                          where its tensors lie, if it has some: seen_by()
///     __device__ Sees of(int sequence, int head) const;     a function (query, key) -> bool, or word_of()
///
/// and, where a query may see nothing and the call says what follows, `static EmptyRow empty_row(const Call&)`,
/// and the engine of attention does the rest. Tensors are [sequences, heads, tokens, width].

namespace attest::cuda {

/// A pattern of positions alone: the same for every sequence and head. `Self` has operator()(query, key).
template <class Self>
struct PositionPattern {
  static constexpr Place place{};
  __device__ const Self& of(int, int) const { return static_cast<const Self&>(*this); }
};

template <class Pattern>
struct Patterned {
  static Logits logits_of(Call& call) {
    Logits logits = unmasked_products_of(call);
    if constexpr (requires { Pattern::empty_row(call); }) logits.empty_row = Pattern::empty_row(call);
    const Pattern pattern = Pattern::from(call);
    logits.seen = seen_by(call, logits.queries, logits.keys, pattern, pattern.place);
    return logits;
  }

  struct Value {
    template <class T, class Factor>
    static void run(Call& call) {
      attend_online<T, Factor>(call, logits_of(call), call.rows("v"), call.output_rows("o"));
    }
  };
  struct Gradient {
    template <class T, class Factor>
    static void run(Call& call) {
      attend_backward<T, Factor>(call, logits_of(call), gradients_of(call));
    }
  };

  /// Value and gradient under the name of a form. `can` is what the pattern needs beside the engine's limits.
  static std::vector<attest_kernel> kernels(const char* equation, const char* form, const std::string& can = "") {
    const std::string limits = "d <= 256; m <= 256" + (can.empty() ? "" : "; " + can);
    return Kernels(equation)
        .value<Value>(form, {.can = limits})
        .template gradient<Gradient>(form, {.can = limits + "; groups == heads"})
        .rows();
  }
};

}  // namespace attest::cuda

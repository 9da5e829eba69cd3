// SPDX-License-Identifier: MIT
// Host functions of softmax attention: they choose the kernels of a similarity, which are in units/attention.hpp.
#include "attest/cuda/attention_passes.hpp"

namespace attest::cuda {
namespace {

/// visit<Factor, similarity>() for a similarity that is known at run time. Distances are computed in true float: the
/// error bound has no rounding of operands for differences.
template <class Factor, class Visit>
void with_similarity(const Logits& logits, Visit&& visit) {
  if (logits.similarity != Similarity::exp_product && !logits.only_masked())
    throw std::invalid_argument(
        "a similarity that is no product's exponential takes scale, mask and causal order alone");
  switch (logits.similarity) {
    case Similarity::exp_product: return visit.template operator()<Factor, Similarity::exp_product>();
    case Similarity::exp_distance: return visit.template operator()<float, Similarity::exp_distance>();
    case Similarity::power: return visit.template operator()<Factor, Similarity::power>();
  }
}

/// Tiles of keys begin where segments do, and their bits at multiples of 64.
void check_segments(const Logits& logits) {
  if (logits.segment && logits.seen.words) throw std::invalid_argument("attention in segments takes no mask");
}

template <class T, class Factor, Similarity similarity>
void backward(Call& call, const Logits& logits, const AttentionBackward& x) {
  Sums p{.logits = logits,
         .statistics = passes::statistics_of<T, Factor, similarity>(call, logits, x.v, x.grad_o),
         .v = x.v,
         .grad_o = x.grad_o};
  p.other = x.grad_o;
  p.output = x.grad_v;
  passes::sum_up<T, Factor, similarity, Side::keys, Coefficient::weight>(call, p);
  if constexpr (similarity == Similarity::exp_product) {
    if (x.weights_by_row.data) {
      p.output = {};  // no columns: these sums alone
      p.other = x.v;
      p.by_row = x.weights_by_row;
      passes::sum_up<T, Factor, similarity, Side::queries, Coefficient::weight>(call, p);
    }
  }
  p.factor = similarity == Similarity::exp_distance ? -2 * logits.scale : logits.scale;
  p.other = logits.q;
  p.output = x.grad_k;
  passes::sum_up<T, Factor, similarity, Side::keys, Coefficient::logit_gradient>(call, p);
  p.other = logits.k;
  p.output = x.grad_q;
  p.grad_logits = x.grad_logits;
  p.by_row = x.grad_logits_by_row;
  p.of_factors = x.grad_of_factors;
  passes::sum_up<T, Factor, similarity, Side::queries, Coefficient::logit_gradient>(call, p);
}

}  // namespace

Logits unmasked_products_of(const Call& call) {
  const Rows q = call.rows("q");
  return {.q = q,
          .k = call.rows("k"),
          .queries = call.sequences("n", "q", kTile),
          .keys = call.sequences("s", "k", kTile),
          .scale = static_cast<float>(call.real("scale", 1 / std::sqrt(static_cast<double>(q.stored))))};
}

Logits scaled_products_of(Call& call) {
  Logits logits = unmasked_products_of(call);
  logits.seen = seen_by_mask(call, logits.queries, logits.keys, call.rows("mask"));
  return logits;
}

Logits logits_of(Call& call, EmptyRow empty_row) {
  Logits logits = scaled_products_of(call);
  logits.causal = call.integer("causal") != 0;
  logits.bias = call.rows("bias");
  logits.empty_row = empty_row;
  return logits;
}

AttentionBackward gradients_of(const Call& call) {
  return {.v = call.rows("v"),
          .grad_o = call.rows("cotangent.o"),
          .grad_q = call.output_rows("gradient.q"),
          .grad_k = call.output_rows("gradient.k"),
          .grad_v = call.output_rows("gradient.v")};
}

template <class T, class Factor>
void attend_online(Call& call, const Logits& logits, const Rows& v, const OutputRows& o) {
  check_segments(logits);
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    if (attends_by_warpgroup(logits, v.width())) return attend_by_warpgroup(call, logits, v, o);
  with_similarity<Factor>(
      logits, [&]<class F, Similarity similarity>() { passes::attend<T, F, similarity>(call, logits, v, o); });
}

template <class T, class Factor>
void attend_from_statistics(Call& call, const Logits& logits, const Rows& v, const OutputRows& o,
                            const OutputRows& weights_by_row) {
  check_segments(logits);
  constexpr Similarity softmax = Similarity::exp_product;
  const Rows statistics = passes::statistics_of<T, Factor, softmax>(call, logits, v, {});
  passes::sum_up<T, Factor, softmax, Side::queries, Coefficient::weight>(
      call, {.logits = logits, .statistics = statistics, .v = v, .other = v, .output = o, .by_row = weights_by_row});
}

template <class T, class Factor>
void attend_backward(Call& call, Logits logits, const AttentionBackward& x) {
  check_segments(logits);
  if (logits.empty_row == EmptyRow::nan) logits.empty_row = EmptyRow::zero;
  with_similarity<Factor>(logits,
                          [&]<class F, Similarity similarity>() { backward<T, F, similarity>(call, logits, x); });
}

#define ATTEST_CUDA_INSTANTIATE(T, Factor)                                                              \
  template void attend_online<T, Factor>(Call&, const Logits&, const Rows&, const OutputRows&);         \
  template void attend_from_statistics<T, Factor>(Call&, const Logits&, const Rows&, const OutputRows&, \
                                                  const OutputRows&);                                   \
  template void attend_backward<T, Factor>(Call&, Logits, const AttentionBackward&);
ATTEST_CUDA_FORMATS(ATTEST_CUDA_INSTANTIATE)
#undef ATTEST_CUDA_INSTANTIATE

}  // namespace attest::cuda

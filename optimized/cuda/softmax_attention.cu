// SPDX-License-Identifier: MIT
// What attends: softmax attention, and the way to what other similarities need.
#include "attest/cuda/attention_passes.hpp"

namespace attest::cuda {

#define ATTEST_CUDA_ELSEWHERE(T, Factor) extern template struct Passes<Similarity::power, T, Factor>;
ATTEST_CUDA_FORMATS(ATTEST_CUDA_ELSEWHERE)
extern template struct Passes<Similarity::exp_distance, float, float>;
extern template struct Passes<Similarity::exp_distance, __nv_bfloat16, float>;
extern template struct Passes<Similarity::exp_distance, __half, float>;

namespace {

/// visit<Factor, similarity>() for a similarity that is known when a call comes. What weighs by distances is computed in true float:
/// no channel of rounded factors belongs to a difference.
template <class Factor, class Visit>
void with_similarity(Similarity similarity, Visit&& visit) {
  switch (similarity) {
    case Similarity::exp_product: return visit.template operator()<Factor, Similarity::exp_product>();
    case Similarity::exp_distance: return visit.template operator()<float, Similarity::exp_distance>();
    case Similarity::power: return visit.template operator()<Factor, Similarity::power>();
  }
}

}  // namespace

Logits scaled_products_of(const Call& call) {
  const Rows q = call.rows("q");
  return {.q = q,
          .k = call.rows("k"),
          .queries = call.sequences("n", "q", kTile),
          .keys = call.sequences("s", "k", kTile),
          .scale = static_cast<float>(call.real("scale", 1 / std::sqrt(static_cast<double>(q.stored)))),
          .mask = call.rows("mask")};
}

Logits logits_of(const Call& call, EmptyRow empty_row) {
  Logits logits = scaled_products_of(call);
  logits.causal = call.integer("causal") != 0;
  logits.bias = call.rows("bias");
  logits.empty_row = empty_row;
  return logits;
}

template <class T, class Factor>
void attend_online(Call& call, const Logits& logits, const Rows& v, const Answers& o) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    if (attends_by_warpgroup(logits, v.width())) return attend_by_warpgroup(call, logits, v, o);
  with_similarity<Factor>(logits.similarity, [&]<class F, Similarity similarity>() { Passes<similarity, T, F>::online(call, logits, v, o); });
}

template <class T, class Factor>
void attend_from_statistics(Call& call, const Logits& logits, const Rows& v, const Answers& o, const Answers& weights_by_row) {
  constexpr Similarity softmax = Similarity::exp_product;
  const Rows known = passes::statistics_of<T, Factor, softmax>(call, logits, v, {});
  passes::sum_up<T, Factor, softmax, Side::queries, Coefficient::weight>(
      call, {.logits = logits, .statistics = known, .v = v, .other = v, .answers = o, .by_row = weights_by_row});
}

template <class T, class Factor>
void attend_backward(Call& call, const Logits& logits, const AttentionBackward& x) {
  with_similarity<Factor>(logits.similarity, [&]<class F, Similarity similarity>() { Passes<similarity, T, F>::backward(call, logits, x); });
}

#define ATTEST_CUDA_INSTANTIATE(T, Factor)                                                               \
  template void attend_online<T, Factor>(Call&, const Logits&, const Rows&, const Answers&);             \
  template void attend_from_statistics<T, Factor>(Call&, const Logits&, const Rows&, const Answers&, const Answers&); \
  template void attend_backward<T, Factor>(Call&, const Logits&, const AttentionBackward&);
ATTEST_CUDA_FORMATS(ATTEST_CUDA_INSTANTIATE)

}  // namespace attest::cuda

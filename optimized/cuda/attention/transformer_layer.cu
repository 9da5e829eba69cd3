// SPDX-License-Identifier: MIT
#include "attest/cuda/layer_norm.hpp"
#include "attest/cuda/multi_head.hpp"
#include "attest/spec/attention/transformer_layer.hpp"

namespace attest::cuda::attention::transformer_layer {
namespace {

using spec::attention::transformer_layer::Kind;

/// x + A(x); projections and outputs of the heads are kept for the backward pass.
struct Attention {
  MultiHead heads{};
  Projections p{};
  Rows head_outputs{}, sum{};

  template <class T, class Factor>
  static Attention of(Call& call, const MultiHead& heads) {
    Attention a{.heads = heads, .p = heads.project<T, Factor>(call)};
    a.head_outputs = heads.attend<T, Factor>(call, a.p);
    const OutputRows sum = call.workspace_rows(heads.queries, heads.x_q.stored);
    heads.project_output<T, Factor>(call, a.head_outputs, heads.x_q, sum);
    a.sum = read_back(sum);
    return a;
  }
};

/// The inputs that all kinds of a layer share.
struct Layer {
  Call& call;
  Rows x = call.rows("x"), memory = call.rows("memory");
  Sequences tokens = call.sequences("n", "x", kTile), memory_tokens = call.sequences("s", "memory", kTile);
  Kind kind = call.choice<Kind>("kind");
  bool additive = kind == Kind::additive, decodes = kind == Kind::decoder_post_norm;

  /// Attention with weights of these names: queries, keys, values and output.
  MultiHead heads(const Rows& query_tokens, const Rows& key_tokens, const Sequences& keys, const char* q, const char* k,
                  const char* v, const char* o) const {
    const Weights w_q = weights_of_own_heads(call, q);
    return {.x_q = query_tokens,
            .x_k = key_tokens,
            .x_v = key_tokens,
            .queries = tokens,
            .keys = keys,
            .w_q = w_q,
            .w_k = weights_of_own_heads(call, k),
            .w_v = weights_of_own_heads(call, v),
            .w_o = weights_of_own_heads(call, o),
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(w_q.width()))),
            .linear = call.choice<spec::attention::transformer_layer::Attention>("attention") ==
                      spec::attention::transformer_layer::Attention::linear};
  }
  MultiHead on_tokens() const {
    MultiHead heads = this->heads(x, x, tokens, "w_q", "w_k", "w_v", "w_o");
    heads.causal = decodes;
    return heads;
  }
  MultiHead on_memory(const Rows& query_tokens) const {
    return heads(query_tokens, memory, memory_tokens, "c_q", "c_k", "c_v", "c_o");
  }

  OutputRows scratch_rows() const { return call.workspace_rows(tokens, x.stored); }

  Normalisation norm(const char* gamma, const char* beta, const Rows& of, const OutputRows& out) const {
    Sequences rows = tokens;
    rows.chunk = kWarps;
    return {.tokens = rows,
            .eps = static_cast<float>(call.real("eps")),
            .x = of,
            .gamma = call.rows_of_sequence(gamma),
            .beta = call.rows_of_sequence(beta),
            .out = out};
  }
  /// LN, and the gradient back through it.
  template <class T>
  Rows normalised(const char* gamma, const char* beta, const Rows& of, const OutputRows& y) const {
    const Normalisation p = norm(gamma, beta, of, y);
    call.launch(normalise<T>, of_chunks(call, p.tokens), kThreads, 0, p);
    return read_back(y);
  }
  template <class T>
  Rows norm_gradient(const char* gamma, const Rows& of, const Rows& grad_y) const {
    Normalisation p = norm(gamma, "", of, scratch_rows());
    p.grad_y = grad_y;
    call.launch(token_gradients<T>, of_chunks(call, p.tokens), kThreads, 0, p);
    return read_back(p.out);
  }
};

/// additive:  z = F(y),         y = x + A(x) encoder:   z = LN(y + F(y)), y = LN(x + A(x)) decoder:   z = LN(u + F(u)),
/// u = LN(y + A(y, memory)), y = LN(x + A(x)) causal The forward pass up to the hidden units of F.
struct Pass {
  Attention own{}, other{};
  FeedForward network{};
  Rows hidden{};

  template <class T, class Factor>
  static Pass of(Call& call, const Layer& layer) {
    Pass pass{.own = Attention::of<T, Factor>(call, layer.on_tokens())};
    Rows y = pass.own.sum;
    if (!layer.additive) y = layer.normalised<T>("gamma_1", "beta_1", y, layer.scratch_rows());
    if (layer.decodes) {
      pass.other = Attention::of<T, Factor>(call, layer.on_memory(y));
      y = layer.normalised<T>("gamma_2", "beta_2", pass.other.sum, layer.scratch_rows());
    }
    pass.network = FeedForward::of(call, layer.tokens, y);
    pass.hidden = pass.network.hidden<T, Factor>(call);
    return pass;
  }
  /// The input of the last norm: y + F(y), or u + F(u).
  template <class T, class Factor>
  Rows last_sum(Call& call, const Layer& layer) const {
    const OutputRows sum = layer.scratch_rows();
    network.output<T, Factor>(call, hidden, network.x, sum);
    return read_back(sum);
  }
};

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Layer layer{call};
    const Pass pass = Pass::of<T, Factor>(call, layer);
    const OutputRows z = call.output_rows("z");
    if (layer.additive)
      pass.network.output<T, Factor>(call, pass.hidden, {}, z);
    else
      layer.normalised<T>("gamma_3", "beta_3", pass.last_sum<T, Factor>(call, layer), z);
  }
};

/// The forward pass again, then back through the sublayers; `grad` is the gradient with respect to a sublayer's output.
/// A residual connection passes it on.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Layer layer{call};
    const Pass pass = Pass::of<T, Factor>(call, layer);
    Rows grad = call.rows("cotangent.z");
    if (!layer.additive) grad = layer.norm_gradient<T>("gamma_3", pass.last_sum<T, Factor>(call, layer), grad);

    const FeedForward& f = pass.network;
    const Rows by_hidden = f.hidden_gradient<T, Factor>(call, pass.hidden, grad);
    const OutputRows by_input = layer.scratch_rows();
    dense_gradient<T, Factor>(
        call,
        {.tokens = f.tokens, .x = f.x, .grad_y = by_hidden, .grad_w = call.output_rows_of_sequence("gradient.w_1")});
    dense<T, Factor>(call, {.tokens = f.tokens,
                            .x = by_hidden,
                            .w = f.w_1.transposed(),
                            .addend = layer.additive ? Rows{} : grad,
                            .y = by_input});
    grad = read_back(by_input);

    if (layer.decodes) {
      grad = layer.norm_gradient<T>("gamma_2", pass.other.sum, grad);
      const MultiHead& a = pass.other.heads;
      const Projections by = a.backward<T, Factor>(call, pass.other.p, grad);
      const OutputRows by_queries = layer.scratch_rows(), by_values = call.workspace_rows(a.keys, layer.memory.stored);
      a.token_gradient<T, Factor>(call, a.keys, by.v, a.w_v, {}, by_values);
      a.token_gradient<T, Factor>(call, a.keys, by.k, a.w_k, read_back(by_values), call.output_rows("gradient.memory"));
      a.token_gradient<T, Factor>(call, a.queries, by.q, a.w_q, grad, by_queries);
      a.weight_gradient<T, Factor>(call, a.keys, a.shared(layer.memory), by.k, "gradient.c_k");
      grad = read_back(by_queries);
    } else {
      zero_memory_gradients<T, Factor>(call, layer);
    }

    if (!layer.additive) grad = layer.norm_gradient<T>("gamma_1", pass.own.sum, grad);
    const MultiHead& a = pass.own.heads;
    const Projections by = a.backward<T, Factor>(call, pass.own.p, grad);
    const OutputRows by_values = layer.scratch_rows(), by_keys = layer.scratch_rows();
    a.token_gradient<T, Factor>(call, a.keys, by.v, a.w_v, grad, by_values);
    a.token_gradient<T, Factor>(call, a.keys, by.k, a.w_k, read_back(by_values), by_keys);
    a.token_gradient<T, Factor>(call, a.queries, by.q, a.w_q, read_back(by_keys), call.output_rows("gradient.x"));
    a.weight_gradient<T, Factor>(call, a.queries, a.shared(layer.x), by.q, "gradient.w_q");
    a.weight_gradient<T, Factor>(call, a.queries, pass.own.head_outputs, a.shared(grad), "gradient.w_o");
  }

  /// Zero gradients of the inputs that only a decoder reads: layers without input, and sums over no tokens.
  template <class T, class Factor>
  static void zero_memory_gradients(Call& call, const Layer& layer) {
    const Weights c_k = weights_of_own_heads(call, "c_k");
    dense<T, Factor>(call, {.tokens = layer.memory_tokens, .y = call.output_rows("gradient.memory")});
    layer.on_memory(layer.x).weight_gradient<T, Factor>(
        call, {.count = layer.memory_tokens.count}, {.stored = c_k.height}, {.stored = c_k.width()}, "gradient.c_k");
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* can = "d <= 256; m <= 256";
  return Kernels("attention.transformer_layer")
      .value<Value>("dense", {.can = can, .layouts = Layouts::both})
      .gradient<Gradient>("dense", {.can = can, .layouts = Layouts::both})
      .rows();
}

}  // namespace attest::cuda::attention::transformer_layer

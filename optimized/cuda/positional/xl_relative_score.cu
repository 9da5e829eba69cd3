// SPDX-License-Identifier: MIT
#include <cmath>

#include "attest/cuda/scores.hpp"

namespace attest::cuda::positional::xl_relative_score {
namespace {

/// The matrix that begins `elements` elements later.
template <class T>
Rows from(const Rows& rows, Index elements) {
  Rows moved = rows;
  if (rows.in_float)
    moved.data = static_cast<const float*>(rows.data) + elements;
  else
    moved.data = static_cast<const T*>(rows.data) + elements;
  return moved;
}

/// The inputs of a call, and their projections. Distances are counted from -ahead on: p has a row for each, and column
/// t of a matrix by distance is for keys t - ahead places before their query.
struct Projections {
  Rows x_q{}, x_k{}, w_q{}, w_e{}, w_r{}, r{}, r_ahead{};  // row t of r_ahead is for distance t - ahead
  Sequences queries{}, keys{}, distances{};
  Index ahead = 0;
  int last_diagonal = INT_MAX;  // a key j is scored where j - i is no more
  float scale = 1;
  Rows k{}, p{};

  template <class T, class Factor>
  static Projections of(Call& call) {
    Projections x{.x_q = call.rows("x_q"),
                  .x_k = call.rows("x_k"),
                  .w_q = call.rows_of_sequence("w_q"),
                  .w_e = call.rows_of_sequence("w_e"),
                  .w_r = call.rows_of_sequence("w_r"),
                  .r = call.rows("r"),
                  .r_ahead = call.rows("r_ahead")};
    x.queries = call.sequences("n", "x_q", kTile);
    x.keys = call.sequences("s", "x_k", kTile);
    x.scale = static_cast<float>(call.real("scale", 1 / std::sqrt(static_cast<double>(x.w_q.stored))));
    if (call.input("r_ahead")) {
      x.ahead = x.queries.length - 1;
      x.r_ahead = from<T>(x.r_ahead, x.ahead * x.r_ahead.place.row);
      x.r_ahead.place.row = -x.r_ahead.place.row;
    } else {
      x.last_diagonal = static_cast<int>(x.past());
    }
    x.distances = {.length = x.ahead + x.keys.length, .count = x.queries.count};
    x.k = project<T, Factor>(call, x.keys, x.x_k, x.w_e);
    x.p = x.project_distances<T, Factor>(call);
    return x;
  }

  Index past() const { return keys.length - queries.length; }
  Sequences rows_ahead() const { return {.length = ahead, .count = queries.count, .chunk = kTile}; }

  /// q, or q + bias for every query.
  template <class T, class Factor>
  Rows q(Call& call, const Rows& bias = {}) const {
    return project<T, Factor>(call, queries, x_q, w_q, bias);
  }

  /// The view by key of a matrix stored by distance: with a row stride of one element more, and columns read backwards,
  /// entries are in the order of the keys.
  template <class T>
  Rows by_key(const OutputRows& by_distance) const {
    Rows skewed = from<T>(read_back(by_distance), ahead + past());
    skewed.place.row += 1;
    skewed.place.column = -1;
    return skewed;
  }

  /// r_ahead w_r, then r w_r.
  template <class T, class Factor>
  Rows project_distances(Call& call) const {
    const OutputRows all = call.workspace_rows(distances, w_r.stored);
    OutputRows from_distance_0 = all;
    from_distance_0.data = static_cast<float*>(all.data) + ahead * all.place.row;
    const Weights w{w_r, r.stored};
    if (ahead > 0) dense<T, Factor>(call, {.tokens = rows_ahead(), .x = r_ahead, .w = w, .y = all});
    dense<T, Factor>(call, {.tokens = keys, .x = r, .w = w, .y = from_distance_0});
    return read_back(all);
  }
};

/// (q + u) k^T and (q + v) p^T, the second for all distances at once.
struct Shifted {
  template <class T, class Factor>
  static void run(Call& call) {
    const Projections x = Projections::of<T, Factor>(call);
    const Rows content_query = x.q<T, Factor>(call, call.rows("u")),
               distance_query = x.q<T, Factor>(call, call.rows("v"));
    const OutputRows by_distance = call.workspace_rows(x.queries, static_cast<int>(x.distances.length));
    multiply_rows<T, Factor>(
        call, {.a = distance_query, .b = x.p, .rows = x.queries, .factor = x.scale, .output = by_distance});
    multiply_rows<T, Factor>(call, {.a = content_query,
                                    .b = x.k,
                                    .rows = x.queries,
                                    .factor = x.scale,
                                    .addend = x.by_key<T>(by_distance),
                                    .last_diagonal = x.last_diagonal,
                                    .output = call.output_rows("a")});
  }
};

/// q p^T, v p^T, q k^T and u k^T, each added to those before it. u and v are a row for all queries.
struct FourTerms {
  template <class T, class Factor>
  static void run(Call& call) {
    const Projections x = Projections::of<T, Factor>(call);
    const Rows q = x.q<T, Factor>(call);
    const OutputRows by_distance = call.workspace_rows(x.queries, static_cast<int>(x.distances.length));
    const OutputRows sum = call.workspace_rows(x.queries, static_cast<int>(x.keys.length));
    Scores term{.a = q, .b = x.p, .rows = x.queries, .factor = x.scale, .output = by_distance};
    multiply_rows<T, Factor>(call, term);
    term.a = call.rows("v");
    term.addend = read_back(by_distance);
    multiply_rows<T, Factor>(call, term);
    term = {.a = q,
            .b = x.k,
            .rows = x.queries,
            .factor = x.scale,
            .addend = x.by_key<T>(by_distance),
            .last_diagonal = x.last_diagonal,
            .output = sum};
    multiply_rows<T, Factor>(call, term);
    term.a = call.rows("u");
    term.addend = read_back(sum);
    term.output = call.output_rows("a");
    multiply_rows<T, Factor>(call, term);
  }
};

/// scale grad_a where a key is scored, else 0, by key and by distance.
template <class T>
__global__ __launch_bounds__(kThreads) void place_gradients(Sequences queries, float scale, int first,
                                                            int last_diagonal, Rows grad_a, OutputRows by_key,
                                                            OutputRows by_distance) {
  const Chunk chunk = queries.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), keys = by_key.width, distances = by_distance.width;
  const Panel<T> cotangent(grad_a, chunk, head);
  const auto put = [&](const OutputRows& to, int row, int column, int i, int j) {
    const bool scored = j >= 0 && j < keys && j - i <= last_diagonal;
    static_cast<float*>(to.data)[to.place.at(chunk.sequence, head, i, column)] =
        scored ? scale * cotangent(row, j) : 0.0f;
  };
  for (int at = static_cast<int>(threadIdx.x); at < chunk.count * distances; at += kThreads) {
    const int row = at / distances, t = at % distances, i = static_cast<int>(chunk.first) + row;
    put(by_distance, row, t, i, i + first - t);
    if (t < keys) put(by_key, row, t, i, t);
  }
}

/// Backwards through both products, then through the projections.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Projections x = Projections::of<T, Factor>(call);
    const Rows content_query = x.q<T, Factor>(call, call.rows("u")),
               distance_query = x.q<T, Factor>(call, call.rows("v"));
    const OutputRows by_key = call.workspace_rows(x.queries, static_cast<int>(x.keys.length));
    const OutputRows by_distance = call.workspace_rows(x.queries, static_cast<int>(x.distances.length));
    call.launch(place_gradients<T>, {x.queries.slots(), 1, call.heads()}, kThreads, 0, x.queries, x.scale,
                static_cast<int>(x.ahead + x.past()), x.last_diagonal, call.rows("cotangent.a"), by_key, by_distance);
    const Rows grad_content = project<T, Factor>(call, x.queries, read_back(by_key), x.k);
    const Rows grad_distance = project<T, Factor>(call, x.queries, read_back(by_distance), x.p);
    const OutputRows grad_k = call.workspace_rows(x.keys, x.k.stored),
                     grad_p = call.workspace_rows(x.distances, x.p.stored);
    multiply_columns<T, Factor>(call, x.queries, read_back(by_key), content_query, grad_k);
    multiply_columns<T, Factor>(call, x.queries, read_back(by_distance), distance_query, grad_p);

    sum_rows<T>(call, x.queries, grad_content, call.output_rows("gradient.u"));
    sum_rows<T>(call, x.queries, grad_distance, call.output_rows("gradient.v"));
    const Rows grad_q = add_rows<T>(call, x.queries, grad_content, grad_distance);
    projection_gradients<T, Factor>(call, x.queries, grad_q, x.x_q, x.w_q, "gradient.x_q", "gradient.w_q");
    projection_gradients<T, Factor>(call, x.keys, read_back(grad_k), x.x_k, x.w_e, "gradient.x_k", "gradient.w_e");
    Rows of_ahead{};
    if (x.ahead > 0) {
      const OutputRows sum = call.workspace_rows({.length = x.r.stored, .count = x.queries.count}, x.p.stored);
      multiply_columns<T, Factor>(call, x.rows_ahead(), x.r_ahead, read_back(grad_p), sum);
      of_ahead = read_back(sum);
    }
    projection_gradients<T, Factor>(call, x.keys, from<T>(read_back(grad_p), x.ahead * grad_p.place.row), x.r, x.w_r,
                                    "gradient.r", "gradient.w_r", of_ahead);
  }

  /// Of y = x w: grad_x = grad_y w^T, grad_w = x^T grad_y + addend.
  template <class T, class Factor>
  static void projection_gradients(Call& call, const Sequences& rows, const Rows& grad_y, const Rows& x, const Rows& w,
                                   const char* grad_x, const char* grad_w, const Rows& addend = {}) {
    multiply_rows<T, Factor>(call, {.a = grad_y, .b = w, .rows = rows, .output = call.output_rows(grad_x)});
    multiply_columns<T, Factor>(call, rows, x, grad_y, call.output_rows_of_sequence(grad_w), 1, addend);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("positional.xl_relative_score")
      .value<FourTerms>("four_terms", {})
      .value<Shifted>("rel_shift", {})
      .gradient<Gradient>("rel_shift", {})
      .rows();
}

}  // namespace attest::cuda::positional::xl_relative_score

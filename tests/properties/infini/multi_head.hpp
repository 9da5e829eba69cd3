// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::infini::multi_head {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// A head whose rows of w_o are zero might as well not be there.
inline Finding head_ablation(const Context& c) {
  const Index h = c.problem.sizes.at("h");
  if (h < 2) return Finding::not_applicable();
  const Index head = laws::choose(c, 1, h);
  std::vector<Index> others(static_cast<std::size_t>(h));
  std::iota(others.begin(), others.end(), Index{0});
  others.erase(others.begin() + head);
  Problem silent = c.problem;
  auto& w_o = silent.inputs.at("w_o");
  const auto width = w_o.values.size() / static_cast<std::size_t>(h);
  std::fill_n(w_o.values.begin() + static_cast<std::ptrdiff_t>(width) * head, width, 0.0);
  const Outcome with = c.evaluate(silent), without = c.evaluate(laws::take_rows(c.problem, "h", others));
  return laws::same(c, "o", with.values.at("o"), with.bounds().at("o"), without.values.at("o"),
                    without.bounds().at("o"), "w_o of one head zero");
}

/// A head's state depends on no other head's weights, gate or state.
inline Finding states_are_independent(const Context& c) {
  const Index h = c.problem.sizes.at("h");
  if (h < 2) return Finding::not_applicable();
  const Index head = laws::choose(c, 1, h);
  Problem changed = c.problem;
  for (auto& [name, array] : changed.inputs) {
    if (name == "x") continue;
    const Array fresh = laws::redrawn(c, name, 2);
    const Index width = array.size() / h;
    for (Index i = 0; i < array.size(); ++i)
      if (i / width != head) array.values[static_cast<std::size_t>(i)] = fresh.values[static_cast<std::size_t>(i)];
  }
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(changed);
  for (const char* state : {"memory", "z"}) {
    if (!plain.values.count(state)) return Finding::not_applicable();
    const auto& declared = *c.problem.spec->output(state);
    const auto mine = [&](const Array& array) { return laws::take(array, declared, "h", {head}); };
    const auto finding =
        laws::same(c, state, mine(plain.values.at(state)), mine(plain.bounds().at(state)), mine(other.values.at(state)),
                   mine(other.bounds().at(state)), "changing every other head");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// One head whose projections pick columns of x and whose w_o picks columns of the head is infini.segment_attention.
inline Finding one_selecting_head(const Context& c) {
  Problem one = laws::take_rows(c.problem, "h", {0});
  const Index n = one.sizes.at("n"), e = one.sizes.at("e"), d = one.sizes.at("d"), m = one.sizes.at("m"),
              f = one.sizes.at("f");
  Problem head{&find_spec("infini.segment_attention"), {{"n", n}, {"d", d}, {"m", m}}, one.parameters, {}};
  const auto select = [](Array& w, Index rows, Index columns, Index shift) {
    for (Index r = 0; r < rows; ++r)
      for (Index b = 0; b < columns; ++b)
        w.values[static_cast<std::size_t>(r * columns + b)] = r == (b + shift) % rows ? 1 : 0;
  };
  Index shift = 0;
  for (const auto& [projection, tensor, width] :
       {std::tuple("w_q", "q", d), std::tuple("w_k", "k", d), std::tuple("w_v", "v", m)}) {
    select(one.inputs.at(projection), e, width, shift);
    Array picked{{n, width}, {}};
    for (Index i = 0; i < n; ++i)
      for (Index b = 0; b < width; ++b)
        picked.values.push_back(one.inputs.at("x").values[static_cast<std::size_t>(i * e + (b + shift) % e)]);
    head.inputs[tensor] = picked;
    ++shift;
  }
  select(one.inputs.at("w_o"), m, f, 0);
  head.inputs["beta"] = {{}, one.inputs.at("beta").values};
  if (one.inputs.count("memory")) head.inputs["memory"] = {{d, m}, one.inputs.at("memory").values};
  if (one.inputs.count("z")) head.inputs["z"] = {{d}, one.inputs.at("z").values};
  const auto expected = golden::enclose(head, "loop", 128);
  const auto spread = [&](const Array& a) {
    Array o{{n, f}, {}};
    for (Index i = 0; i < n; ++i)
      for (Index b = 0; b < f; ++b) o.values.push_back(a.values[static_cast<std::size_t>(i * m + b % m)]);
    return o;
  };
  const Outcome outcome = c.evaluate(one);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), spread(expected.middle.at("o")),
                    spread(expected.radius.at("o")), "one head that picks columns");
}

/// Closed gates leave multi-head causal attention inside each segment.
inline Finding all_local(const Context& c) {
  Problem closed = c.problem;
  if (std::get<std::string>(*setting(closed, "position")) != "none") return Finding::not_applicable();
  for (double& beta : closed.inputs.at("beta").values) beta = -256;  // sigma(-256) is 7e-112
  const Outcome outcome = c.evaluate(closed);
  const Index n = closed.sizes.at("n");
  const auto segment = setting(closed, "segment");
  const Index length = segment ? std::get<Index>(*segment) : n;
  Array expected{outcome.values.at("o").shape, {}}, radius = expected;
  for (Index first = 0; first < n; first += length) {
    std::vector<Index> rows(static_cast<std::size_t>(std::min(length, n - first)));
    std::iota(rows.begin(), rows.end(), first);
    const Problem part = laws::take_rows(closed, "n", rows);
    const auto& sizes = part.sizes;
    const auto& in = part.inputs;
    const Problem local{&find_spec("attention.multi_head"),
                        {{"n", sizes.at("n")},
                         {"s", sizes.at("n")},
                         {"f", sizes.at("e")},
                         {"h", sizes.at("h")},
                         {"d", sizes.at("d")},
                         {"m", sizes.at("m")},
                         {"e", sizes.at("f")}},
                        {{"causal", true}},
                        {{"x_q", in.at("x")},
                         {"x_k", in.at("x")},
                         {"x_v", in.at("x")},
                         {"w_q", in.at("w_q")},
                         {"w_k", in.at("w_k")},
                         {"w_v", in.at("w_v")},
                         {"w_o", in.at("w_o")}}};
    const auto enclosure = golden::enclose(local, "loop", 128);
    const auto append = [](Array& to, const Array& from) {
      to.values.insert(to.values.end(), from.values.begin(), from.values.end());
    };
    append(expected, enclosure.middle.at("o"));
    append(radius, enclosure.radius.at("o"));
  }
  for (double& x : radius.values) x += 0x1p-340;  // sigma(-256) of the memories' answers is left
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, radius, "every beta = -256");
}

inline std::vector<laws::Property> properties() {
  return {{"head_ablation", head_ablation},
          {"states_are_independent", states_are_independent},
          {"one_selecting_head", one_selecting_head},
          {"all_local", all_local}};
}

}  // namespace attest::properties::infini::multi_head

// SPDX-License-Identifier: MIT
#include "attest/judge/heads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "attest/golden/agreement.hpp"
#include "attest/judge/verdict.hpp"

namespace attest::judge {
namespace {

// Seeds of inputs that are per head, per group, per entry of the batch: apart from each other and from those of stored
// cases, which count from 1.
constexpr Index kHeadSeed = 100, kGroupSeed = 200, kEntrySeed = 300;

/// The shape of a case at other lengths; nothing where the kernel cannot do them.
std::optional<golden::Case> at_lengths(golden::Case c, const Kernel& kernel, const Sizes& lengths) {
  const golden::Case before = c;
  for (const auto& [name, length] : lengths) c.sizes[name] = length;
  const auto adapted = kernel.capabilities.adapted(*c.spec, c.sizes, c.parameters);
  if (!adapted || adapted->second != before.parameters) return std::nullopt;
  c.sizes = adapted->first;
  for (const auto& [name, size] : before.sizes)
    if (!c.spec->size(name)->tokens && c.sizes.at(name) != size) return std::nullopt;
  if (!form_applies(*c.spec, kernel.info.form, c.sizes, c.parameters)) return std::nullopt;
  return c;
}

/// Sequences to pack: that of the case, prime numbers of tokens, no token where the equation has that, one token.
std::vector<golden::Case> sequences(const golden::Case& shape, const Kernel& kernel, std::vector<Index> primes) {
  Sizes one, none, odd;
  for (const auto& name : kernel.token_sizes()) {
    const auto& size = *shape.spec->size(name);
    one[name] = std::clamp<Index>(1, size.smallest, size.largest);
    none[name] = std::clamp<Index>(0, size.smallest, size.largest);
    odd[name] = std::clamp(primes[0], size.smallest, size.largest);
    if (primes.size() > 1) primes.erase(primes.begin());  // queries and keys differ in number
  }
  std::vector<golden::Case> all{shape};
  std::vector<Sizes> lengths{odd, none, one};
  if (none == one) lengths.pop_back();
  for (const auto& other : lengths)
    if (auto c = at_lengths(shape, kernel, other)) all.push_back(std::move(*c));
  return all;
}

struct Extents {
  std::size_t entries;  // of a batch that is not packed
  Index heads, groups;
};

/// Several heads, and groups of them where they share keys. What heads share has a gradient that is summed over them,
/// which no certified value is of: a gradient kernel has as many groups as heads, and one head where heads share a
/// tensor anyway.
Extents extents_of(const Kernel& kernel, Grid grid) {
  const Spec& spec = *kernel.spec;
  const bool first = grid == Grid::first;
  if (!kernel.is_gradient()) return first ? Extents{2, 4, 2} : Extents{1, 3, 1};
  const auto is_shared = [&](const std::string& name) { return spec.input(name)->sharing == Sharing::batch; };
  const bool shared = std::any_of(spec.gradient.begin(), spec.gradient.end(), is_shared);
  return shared ? Extents{first ? 2u : 3u, 1, 1} : first ? Extents{2, 4, 4} : Extents{1, 3, 3};
}

/// What the kernel allows of those extents: without groups where heads may share none. Nothing where it allows neither.
std::optional<Extents> allowed(const Extents& wanted, const golden::Case& shape, const Kernel& kernel) {
  for (const Index groups : {wanted.groups, wanted.heads})
    if (kernel.capabilities.allow(*shape.spec, shape.sizes, shape.parameters,
                                  {static_cast<Index>(wanted.entries), wanted.heads, groups}))
      return Extents{wanted.entries, wanted.heads, groups};
  return std::nullopt;
}

/// Case of each head; none where a head cannot be drawn. Heads of one group have the same group tensors, all heads of
/// an entry the same tensors that are per entry.
std::vector<golden::GoldenCase> draw_cases(const std::vector<golden::Case>& entries, const Extents& extents,
                                           const golden::Profile& profile, bool gradients) {
  std::vector<golden::GoldenCase> cases;
  for (std::size_t b = 0; b < entries.size(); ++b)
    for (Index h = 0; h < extents.heads; ++h) {
      golden::Case c = entries[b];
      const auto entry = static_cast<Index>(b);
      c.seed = static_cast<std::uint64_t>(kHeadSeed + entry * extents.heads + h);
      for (const auto& input : c.spec->inputs) {
        const Index group = entry * extents.groups + h / (extents.heads / extents.groups);
        if (input.sharing == Sharing::group) c.seeds[input.name] = static_cast<std::uint64_t>(kGroupSeed + group);
        if (input.sharing == Sharing::batch) c.seeds[input.name] = static_cast<std::uint64_t>(kEntrySeed + entry);
      }
      auto certified = certified_now(c, profile, gradients);
      if (!certified) return {};
      cases.push_back(judged_by(std::move(*certified), profile));
    }
  return cases;
}

/// Whether some head's answer would be wrong for the head before it.
bool tells_heads_apart(const std::vector<golden::GoldenCase>& cases, const golden::Profile& profile, bool gradients) {
  return std::adjacent_find(cases.begin(), cases.end(),
                            [&](const golden::GoldenCase& one, const golden::GoldenCase& other) {
                              if (other.problem.sizes != one.problem.sizes) return false;
                              Arrays answer;
                              for (const auto& [name, tensor] : other.certified.outputs)
                                if (golden::is_gradient(name) == gradients) answer[name] = {tensor.shape, tensor.hi};
                              return compare(one.problem, one.certified, answer, profile).failed > 0;
                            }) != cases.end();
}

/// Shapes to try, a case from the middle of the selection first: a random one where there is such a one.
std::vector<golden::Case> shapes_of(const Selection& selection) {
  std::vector<golden::Case> shapes;
  for (const auto& c : selection.cases) shapes.push_back(c.name);
  const auto others =
      std::stable_partition(shapes.begin(), shapes.end(), [](const golden::Case& c) { return c.flag == "random"; });
  std::rotate(shapes.begin(), shapes.begin() + (others - shapes.begin()) / 2, others);
  std::rotate(others, others + (shapes.end() - others) / 2, shapes.end());
  return shapes;
}

Batch batch_of(const std::vector<golden::GoldenCase>& cases, const Extents& extents) {
  Batch batch{{}, {}, static_cast<Index>(cases.size()) / extents.heads, extents.heads, extents.groups};
  for (const auto& c : cases) {
    batch.problems.push_back(c.problem);
    batch.cotangents.push_back(c.cotangents);
  }
  return batch;
}

}  // namespace

std::optional<Heads> draw_heads(const Kernel& kernel, const golden::Profile& profile, const Selection& selection,
                                Grid grid) {
  const Extents wanted = extents_of(kernel, grid);
  const std::vector<Index> primes = grid == Grid::first ? std::vector<Index>{61, 67} : std::vector<Index>{7, 11};
  for (const golden::Case& shape : shapes_of(selection)) {
    const auto possible = allowed(wanted, shape, kernel);
    if (!possible) continue;
    const Extents& extents = *possible;
    auto entries =
        kernel.packed() ? sequences(shape, kernel, primes) : std::vector<golden::Case>(extents.entries, shape);
    if (grid == Grid::second) std::reverse(entries.begin(), entries.end());
    auto cases = draw_cases(entries, extents, profile, kernel.is_gradient());
    if (!cases.empty() && tells_heads_apart(cases, profile, kernel.is_gradient())) {
      Batch batch = batch_of(cases, extents);
      return Heads{std::move(cases), std::move(batch)};
    }
  }
  return std::nullopt;
}

std::string name_of_head(std::size_t p, const Kernel& kernel, const Batch& batch) {
  if (!kernel.packed())
    return fmt::format("head {} of a batch of {} x {} ({} groups): ", p, batch.batch, batch.heads, batch.groups);
  const auto heads = static_cast<std::size_t>(batch.heads);
  std::string lengths;
  for (const auto& size : kernel.token_sizes()) {
    std::vector<Index> each;
    for (std::size_t first = 0; first < batch.problems.size(); first += heads)
      each.push_back(batch.problems[first].sizes.at(size));
    lengths += fmt::format("{}{} = {}", lengths.empty() ? "" : "; ", size, fmt::join(each, ", "));
  }
  return fmt::format("head {} of sequence {} among {} that are packed ({}), {} heads in {} groups: ", p % heads,
                     p / heads, batch.batch, lengths, heads, batch.groups);
}

}  // namespace attest::judge

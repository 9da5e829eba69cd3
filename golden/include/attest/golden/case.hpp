// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/dtype.hpp"
#include "attest/spec.hpp"

namespace attest::golden {

/// A batch of problems of one shape: entries x heads, the heads of an entry in that many groups.
struct Grid {
  Index entries = 1, heads = 1, groups = 1;
};

/// How the tensors of a call may lie in memory: each row followed by bytes that are no part of it; behind other bytes
/// of a buffer; the last axis but one inside of the axis before it (of a matrix, by columns); each tensor in another of
/// these ways.
inline constexpr std::array<const char*, 4> kMemories{"padded", "offset", "transposed", "mixed"};

/// Names one evaluation of an equation completely: drawing it again gives the same inputs, bit for bit, everywhere.
struct Case {
  const Spec* spec = nullptr;
  Sizes sizes;
  Parameters parameters;
  std::string flag = "random";
  std::string exact = "bf16";     // every drawn real number is one of this dtype
  std::vector<std::string> with;  // optional inputs that are given
  std::uint64_t seed = 1;
  std::map<std::string, std::uint64_t> seeds;    // of tensors that are drawn from another seed than `seed`
  std::map<std::string, double> magnitudes{};    // factors of real inputs: 0, or a power of two
  std::map<std::string, std::string> recipes{};  // of inputs that are drawn otherwise than the flag says
  std::optional<Grid> grid{};  // of a batch, whose problems are drawn from seeds that follow from `seed`
  std::string memory{};        // how the tensors of a call lie, one of kMemories; empty: dense
};

/// The cases that an equation's golden file holds, in file order.
std::vector<Case> stored_cases(const Spec& spec);

/// A parameter's value as a query spells it.
std::string text_of(const ParameterSetting& value);

/// "attest:linear.causal:f32;n=129;c=16;m=16;chunk=64;flag=random;seed=7": the one name of a case, everywhere.
std::string query(const Case& c, std::string_view profile);

/// A case and its profile back from a query; throws SpecError that says which part is wrong and what is allowed.
std::pair<Case, std::string> parse_query(std::string_view text);

/// The problems that a case with a grid stands for, entry by entry: heads of one group have the same tensors of the
/// group, heads of one entry the same tensors of the entry; whatever else is drawn differs.
std::vector<Case> problems_of(const Case& c);

/// The case's inputs, drawn with integer arithmetic on std::mt19937_64; no standard distribution.
Problem draw(const Case& c);

/// draw() of each. What problems of a batch share, a tensor of a group or of an entry, is drawn once.
std::vector<Problem> draw_each(const std::vector<Case>& cases);

/// One array by recipe ("normal", "winner -1 8", ...); throws SpecError on an unknown recipe.
Array draw_array(const std::string& recipe, std::vector<Index> shape, DType exact, std::uint64_t seed,
                 std::string_view stream);

/// A cotangent for every output, for vector-Jacobian products.
Arrays draw_cotangents(const Case& c);

/// True when every real input is a number of the dtype, so that a kernel of that dtype gets what the case means.
bool exact_in(const Problem& problem, DType dtype);

}  // namespace attest::golden

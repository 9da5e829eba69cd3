// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/expression.hpp"
#include "attest/golden/case.hpp"
#include "attest/spec.hpp"

namespace attest::judge {

/// Name in conditions for tensors whose rows follow each other in memory.
inline constexpr const char* kContiguous = "contiguous";

/// Names in conditions for the extents of a batch; 1 in a call with one problem.
inline constexpr std::array<const char*, 3> kGridNames{"batch", "heads", "groups"};

/// A call, as far as conditions can be about it.
struct Situation {
  Sizes sizes;
  Parameters parameters;
  std::vector<std::string> given;  // optional inputs
  golden::Grid grid{};
  bool contiguous = true;                    // whether every tensor is
  std::map<std::string, bool> properties{};  // of integer inputs, "sorted(x)"; one that is not here is taken to hold
};

/// Properties of the integer inputs of a batch. consecutive: each value is one more than the one before; sorted: none
/// is smaller; shared: all problems have the same, as far as the shorter ones go.
std::map<std::string, bool> properties_of(const Spec& spec, const std::vector<Problem>& batch);

/// The names in a condition, also those that properties are of.
std::vector<std::string> names_in(const Expression& condition);

/// The sizes and parameters that a default depends on; none where its text is a formula for readers alone.
std::vector<std::string> names_in_default(const ParameterDeclaration& parameter);

/// The value of a name or property in a condition on that call; nothing where it has none. A parameter that is left at
/// a default which depends on sizes has the value of that.
std::optional<Value> value_in(const Spec& spec, const Situation& situation, std::string_view name);

/// Whether a condition of capabilities holds for a call; false where it has no value there.
bool holds_in(const Expression& condition, const Spec& spec, const Situation& situation);

/// Conditions under which a kernel can be called, over sizes, parameters and the extents of a batch, and a few words
/// about the call.
class Capabilities {
public:
  Capabilities() = default;
  /// Throws SpecError when a condition does not parse or names something that the equation does not have.
  Capabilities(const Spec& spec, const std::string& text);

  /// The conditions over sizes, parameters, optional inputs and `batch`, `heads`, `groups`.
  const std::vector<Expression>& conditions() const { return conditions_; }

  /// Whether the kernel can be called with those sizes, parameters and optional inputs, for a batch of that many
  /// problems.
  bool allow(const Spec& spec, const Sizes& sizes, const Parameters& parameters,
             const std::vector<std::string>& given = {}, const golden::Grid& grid = {}) const;
  bool allow(const Spec& spec, const Situation& situation) const;

  /// The first condition that a call does not meet, as it is written; empty where it meets all. Those on optional
  /// inputs are among them.
  std::string unmet(const Spec& spec, const Situation& situation) const;
  /// Whether the kernel says that it does without what these cases are about: an optional input that it is never given,
  /// or a parameter that it leaves at its default.
  bool leave_out(const Spec& spec, const Parameters& parameters, const std::vector<std::string>& given) const;

  /// Sizes and parameters that are allowed and keep the equation's constraints, near the given ones; nothing when none
  /// are found. Each condition, and each operand of an `and`, is mended by itself, the nearest larger size first.
  std::optional<std::pair<Sizes, Parameters>> adapted(const Spec& spec, const Sizes& sizes,
                                                      const Parameters& parameters,
                                                      const std::vector<std::string>& given = {}) const;

  std::size_t alignment() const { return alignment_; }       // "align == 64": of every tensor, in bytes
  bool deterministic() const { return deterministic_; }      // "deterministic == false" waives the repeat test
  bool any_thread() const { return any_thread_; }            // "any_thread == false": it is called from one thread only
  bool gives(const std::string& output) const;               // "lse == false": an optional output it does not have
  bool takes(const std::vector<std::string>& inputs) const;  // "mask == false": an optional input it cannot be given
  /// "hidden_nan == true": tensors may hold NaN and infinities where a mask hides them; nothing: not said.
  std::optional<bool> hidden_nan() const { return hidden_nan_; }
  /// "page == 64": the lengths of pages that it is given under layout pkv.
  const std::vector<Index>& page_lengths() const { return page_lengths_; }
  /// "ranks >= 1": it is called by so many processes together, each with its part of the tokens.
  bool collective() const { return ranks_.has_value(); }
  bool runs_on(Index ranks) const;
  bool zigzag() const { return zigzag_; }  // "zigzag == true": a part may be two pieces of the sequence
  /// "profile == 'tf32'": what it is judged by unless told otherwise.
  const std::optional<std::string>& profile() const { return profile_; }
  const std::string& text() const { return text_; }

private:
  std::vector<Expression> conditions_;
  std::vector<std::string> missing_;  // optional inputs and outputs
  std::size_t alignment_ = 0;
  bool deterministic_ = true;
  bool any_thread_ = true;
  std::optional<bool> hidden_nan_;
  std::vector<Index> page_lengths_{16, 1, 64};
  std::optional<Expression> ranks_;
  bool zigzag_ = false;
  std::optional<std::string> profile_;
  std::string text_;
};

}  // namespace attest::judge

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attest/golden/profile.hpp"
#include "attest/judge/statistics.hpp"

/// What a kernel does to one intermediate result that the formula does not ask for: it holds it in another format, adds
/// something, multiplies it, limits it. Each is emulated in every form of the equation and compared with what the
/// kernel gave. Errors of a rounded stage are no noise: the same inputs give the same errors.
namespace attest::judge {

struct StageChange {
  enum class Kind {
    held,       // in another format
    factor,     // multiplied by `amount`
    term,       // `amount` added
    at_most,    // limited from above to `amount`
    at_least,   // limited from below to `amount`
    parameter,  // as if the parameter were `amount`
    detached,   // derivatives take it for a constant
  };
  Kind kind = Kind::held;
  std::string place{};   // a label of a stage, "input v", "factors of products", "running totals", "o" or a parameter
  std::string format{};  // of Kind::held: "bfloat16", "bfloat16 (cut)", ...
  double amount = 0;
  double error = 0;    // of the amount
  double due = 0;      // of a parameter: what it is
  std::string size{};  // of a factor that is a power of a size; then `amount` is the exponent

  /// "exponentials: held in bfloat16"; "denominator: about 0.001 is added".
  std::string text() const;

  bool operator==(const StageChange& other) const {
    return kind == other.kind && place == other.place && format == other.format && size == other.size &&
           (size.empty() || amount == other.amount);
  }
};

/// What explains the errors of a kernel.
struct StageName {
  std::vector<StageChange> changes;  // one, or two of which neither is enough
  std::string form;                  // of the reference, in which it was emulated
  double explained = 0;              // share of the squared error over the failing cases, each case counting the same
  std::vector<std::string> alike;    // what explains it as well: these cases do not tell them apart

  std::string text() const;
};

/// The share of the squared error that a name must explain.
inline constexpr double kExplains = 0.95;

/// What changes of one stage, or two, explain what the failing cases gave; nothing where none explains enough, where
/// the cases have too few errors to tell, or where it would show in most of the passing cases.
std::optional<StageName> name_of_stage(const std::vector<const Sample*>& failing,
                                       const std::vector<const Sample*>& passing, const golden::Profile& profile);

/// A format that stages are emulated in.
struct StageFormat {
  std::string_view name;
  double (*rounded)(double);
  int bits;  // significant ones
};

/// The formats that are coarser than the arithmetic of a profile.
std::vector<StageFormat> formats_below(const golden::Profile& profile);

/// What a kernel of the profile gives that computes by that form and has these changes, in the formats of the profile.
Arrays outputs_with(const Problem& problem, const std::string& form, const golden::Profile& profile,
                    const std::vector<StageChange>& changes);

}  // namespace attest::judge

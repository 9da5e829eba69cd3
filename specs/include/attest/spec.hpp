// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attest/array.hpp"
#include "attest/expression.hpp"

namespace attest {

/// A spec, a query or a set of arrays that breaks the law of its equation. The message says what, where and what is
/// allowed.
class SpecError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

using ParameterSetting = std::variant<bool, Index, double, std::string>;
using Sizes = std::map<std::string, Index>;
using Parameters = std::map<std::string, ParameterSetting>;

/// Kind of a tensor's elements; decides the dtype that a kernel of some precision gets.
enum class Element { real, integer, boolean };

/// Axes that a batched call gives a tensor: one per head, one per group of heads that share keys, one per batch entry.
enum class Sharing { head, group, batch };

/// Meaning of an input or a parameter that shared code must know, so that it asks for no name: `role = "block length"`
/// in a spec. Of one role, an equation has at most one input or parameter.
enum class Role {
  none,
  mask,            // a boolean input: 0 hides a key from a query
  bias,            // a real input that is added to the logits: -infinity hides a key from a query
  causal,          // a boolean parameter: where true, no query sees a later key
  window_left,     // an integer parameter: how many keys before its own a query sees; negative: all
  window_right,    // an integer parameter: how many keys after its own a query sees; negative: all
  empty_row,       // a choice: the output of a query that sees no key; "mean" is that of all values, hidden ones too
  block_length,    // an integer parameter: how many rows a form computes together
  segment_length,  // an integer parameter: how many tokens there are between places where a state can be handed over
  first_position,  // an integer parameter: the position of a call's first token
};

struct SizeSpec {
  std::string name;
  std::string meaning;
  Index smallest = 1, largest = 64;  // what generators may draw
  bool tokens = false;               // an axis of tokens: layout bnhd puts the heads behind it
};

struct TensorDeclaration {
  std::string name;
  std::string meaning;
  std::vector<std::string> shape;  // names of sizes
  Element element = Element::real;
  Sharing sharing = Sharing::head;
  Role role = Role::none;  // of an input
  bool optional = false;   // an input that a case, or an output that a kernel, may leave out
  bool state = false;      // kept in the accumulator's precision by 16-bit kernels
  std::string draw;        // inputs only: default recipe of the input generator
  struct Draw {
    std::string when;  // expression over sizes and parameters
    std::string draw;
  };
  std::vector<Draw> draws;  // inputs only: the first whose condition holds stands in for `draw`
};

struct ParameterDeclaration {
  enum class Type { boolean, integer, real, choice };
  std::string name;
  std::string meaning;
  Type type = Type::real;
  Role role = Role::none;
  std::optional<ParameterSetting> fallback;  // absent: `fallback_text` says which function of the sizes it is
  std::string fallback_text;
  std::vector<std::string> choices;
};

struct FormDeclaration {
  std::string name;
  std::string meaning;
  bool numeric = false;  // equal over the reals, unstable in floating point: not part of the error model
  bool kernel = true;    // false: stands in the reference only
  std::string when;      // expression under which the form exists; empty: always
  std::string one_step;  // why it has no intermediate result that a kernel could hold; empty: it has
  std::string maximum;   // why a kernel cannot subtract another number than the largest logit; empty: it can
};

struct Constraint {
  std::string label;  // "C1"
  std::string text;
  std::optional<Expression> require;  // over sizes and parameters; absent: a condition on data, checked where it arises
};

struct LawClaim {
  std::string law;  // name of a header in tests/laws
  std::vector<std::string> of;
  std::string along;
  std::string when;  // expression over sizes and parameters under which the law is claimed; empty: always
  std::string note;
};

/// One flag's golden cases.
struct VectorGroup {
  std::string flag;
  std::string exact = "bf16";               // the smallest dtype that holds every drawn input
  std::map<std::string, std::string> fill;  // input -> recipe, where it differs from the tensor's own
  std::vector<std::string> with;            // optional inputs that are given
  std::vector<std::string> same_bits;       // outputs that every correct kernel gives bit for bit: an exact family
  struct Entry {
    Sizes sizes;
    Parameters parameters;
    int seeds = 1;
  };
  std::vector<Entry> entries;
};

/// A known wrong version of an equation, or an equivalent one that only looks wrong; a function in tests/faults.
struct Fault {
  std::string name;
  std::string change;             // what is computed instead
  std::vector<std::string> seen;  // public threads about kernels that had it, as owner/repository#number
  std::string flag;               // the golden cases that reveal it
  double amplitude = 0;           // a quantity that is off by a factor 1 + c x amplitude; 0: it is there or it is not
  bool numeric = false;           // right over the reals, wrong in floating point
  bool gradient = false;          // its outputs are right, its gradients are not
  std::string equivalent;         // why it is no fault at all: judged as correct; empty otherwise
  std::map<std::string, std::string> hidden;  // profile -> why its precision cannot show the fault
};

/// A known mistake of real kernels that is no fault of this equation, and why.
struct NotAFault {
  std::string what;
  std::vector<std::string> seen;
  std::string reason;
};

/// A form of the literature that the spec leaves out, and why.
struct NotTaken {
  std::string name;
  std::string reason;
};

/// Something said about an equation, and what shows it: an invariant, an erratum of a printed source, a claim.
struct Statement {
  std::string name;                // of the invariant; E01 .. of an erratum, C01 .. of a claim
  std::string meaning;             // the invariant or claim in words; what is printed
  std::string right;               // errata: the corrected form
  std::vector<std::string> shown;  // evidence, as "law causal", "property NAME", "form NAME", "fault NAME", "cost" ..
  std::string reason;              // why nothing can show it; empty otherwise
};

struct Cost {
  std::string form;
  std::string operation;  // "mac", "exp", ...
  Expression count;
  std::string when;
};

struct Spec {
  std::string id;  // "linear.causal_chunked"
  std::string title, about, formula;
  std::vector<std::string> source;
  std::vector<SizeSpec> sizes;
  std::vector<TensorDeclaration> inputs, outputs;
  std::vector<ParameterDeclaration> parameters;
  std::vector<FormDeclaration> forms;  // the first is the definition
  std::vector<Constraint> constraints;
  std::vector<LawClaim> laws;
  std::vector<std::string> gradient;  // inputs that the vector-Jacobian product is taken for; empty: none
  std::vector<VectorGroup> vectors;
  std::string no_exact_family;  // why no inputs give every correct kernel the same bits; empty where some do
  std::vector<Fault> faults;
  std::vector<NotAFault> not_faults;
  std::vector<Cost> costs;
  std::map<std::string, std::vector<std::string>> backends;  // "openmp" -> dtypes
  std::vector<NotTaken> not_taken;
  std::vector<Statement> invariants, errata, claims;
  std::vector<std::string> notes;
  std::string text;  // the TOML itself

  std::string family() const { return id.substr(0, id.find('.')); }
  std::string stem() const { return id.substr(id.find('.') + 1); }
  const SizeSpec* size(std::string_view name) const;
  const TensorDeclaration* input(std::string_view name) const;
  const TensorDeclaration* output(std::string_view name) const;
  const ParameterDeclaration* parameter(std::string_view name) const;
  const TensorDeclaration* input(Role role) const;
  const ParameterDeclaration* parameter(Role role) const;
  const FormDeclaration* form(std::string_view name) const;
  const VectorGroup* group(std::string_view flag) const;
  const Fault* fault(std::string_view name) const;
};

/// Sentences that say why something is left out, cannot show or changes nothing, by name.
using Reasons = std::map<std::string, std::string, std::less<>>;

/// Parses specs/reasons.toml, the reasons that several specs give. Throws SpecError naming line and key.
Reasons parse_reasons(std::string_view toml);

/// Parses one spec. `path` is "family/stem.toml" and must spell the id; `reasons` are those that it may name beside its
/// own. Throws SpecError naming path, line, key.
Spec parse_spec(std::string_view toml, const std::string& path, const Reasons& reasons = {});

/// Every spec that was compiled in, by id.
const std::map<std::string, Spec>& specs();

/// The reasons of specs/reasons.toml, as they were compiled in.
const Reasons& reasons();

/// The spec of that id; throws SpecError that offers near names.
const Spec& find_spec(std::string_view id);

/// One evaluation of an equation: concrete sizes, parameters and inputs.
struct Problem {
  const Spec* spec = nullptr;
  Sizes sizes;
  Parameters parameters;  // those given; the rest are defaults
  Arrays inputs;          // those given
};

/// The setting of a parameter: given, or its default; nothing when the default depends on the sizes.
std::optional<ParameterSetting> setting(const Problem& problem, std::string_view name);

/// The setting of the parameter of that role; nothing where the equation has none.
std::optional<ParameterSetting> setting(const Problem& problem, Role role);

/// The input of that role; null where the equation has none or the problem does not give it.
const Array* given(const Problem& problem, Role role);

/// Whether an expression over sizes and parameters holds; an empty one does.
bool holds(const std::string& when, const Spec& spec, const Sizes& sizes, const Parameters& parameters);

/// The recipe that an input is drawn by where its flag has none.
const std::string& draw_of(const TensorDeclaration& input, const Spec& spec, const Sizes& sizes,
                           const Parameters& parameters);

/// Value of a size or parameter inside expressions.
std::optional<Value> lookup(const Spec& spec, const Sizes& sizes, const Parameters& parameters, std::string_view name);

/// Extents of a tensor.
std::vector<Index> shape_of(const TensorDeclaration& tensor, const Sizes& sizes);

/// Checks sizes and parameters against the spec's types and constraints; throws SpecError with the label.
void check_sizes(const Spec& spec, const Sizes& sizes, const Parameters& parameters);

/// check_sizes, plus every input: declared, of its shape, free of NaN and infinities (-inf where the spec allows it).
void check(const Problem& problem);

std::string_view name(Element element);

/// Names close to `wanted`, nearest first, as ", did you mean 'a' or 'b'?"; empty when none is near.
std::string near_names(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace attest

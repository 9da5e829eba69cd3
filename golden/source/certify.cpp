// SPDX-License-Identifier: MIT
#include "attest/golden/certify.hpp"

#include "attest/golden/case.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/error_model.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/reference/witness.hpp"
#include "model.hpp"

namespace attest::golden {
namespace {

using namespace reference;

/// The number that both ends of an enclosure round to, if they do.
struct Decided {
  double hi;
  float lo;
};

std::optional<Decided> decide(const Ball& ball, long precision) {
  if (!arb_is_finite(ball.get())) {
    const double middle = approximate(ball);
    if (std::isinf(middle) && mag_is_zero(arb_radref(ball.get()))) return Decided{middle, 0};
    if (std::isnan(middle)) return Decided{std::numeric_limits<double>::quiet_NaN(), 0};
    return std::nullopt;
  }
  struct Arf {
    arf_t x;
    Arf() { arf_init(x); }
    ~Arf() { arf_clear(x); }
  } low, high, hi;
  const slong bits = 2 * precision + 128;
  arb_get_lbound_arf(low.x, ball.get(), bits);
  arb_get_ubound_arf(high.x, ball.get(), bits);
  const double first = arf_get_d(low.x, ARF_RND_NEAR) + 0.0, second = arf_get_d(high.x, ARF_RND_NEAR) + 0.0;
  if (first != second) return std::nullopt;
  arf_set_d(hi.x, first);
  const auto rest = [&](Arf& end) {
    arf_sub(end.x, end.x, hi.x, ARF_PREC_EXACT, ARF_RND_DOWN);
    mpfr_t exact;
    mpfr_init2(exact, std::max<mpfr_prec_t>(arf_bits(end.x), 2));
    arf_get_mpfr(exact, end.x, MPFR_RNDN);
    const float lo = mpfr_get_flt(exact, MPFR_RNDN) + 0.0f;  // + 0 turns -0 into 0
    mpfr_clear(exact);
    return lo;
  };
  const float low_rest = rest(low), high_rest = rest(high);
  if (low_rest != high_rest) return std::nullopt;
  return Decided{first, low_rest};
}

/// Stored bounds serve every profile when that costs float32 at most a factor of two anywhere.
bool wide_is_harmless(const CertifiedTensors& wide, const CertifiedTensors& narrow) {
  for (const auto& [name, tensor] : wide)
    for (std::size_t i = 0; i < tensor.bound[0].size(); ++i) {
      const double w = bound_of(tensor, i, narrow_units()), n = bound_of(narrow.at(name), i, narrow_units());
      if (!std::isfinite(w) || w > 2 * n) return false;
    }
  return true;
}

/// Boost's MPFR, from another library and at twice the precision, must lie in every ball; every other form must
/// overlap. Outputs and gradients alike.
void check_witnesses(const Problem& problem, const Arrays& cotangents, const Values<Ball>& certified, long bits,
                     const std::vector<Decisions::Choice>& instead) {
  const auto fail = [&](const std::string& witness, const std::string& name, std::size_t i) {
    throw std::logic_error(
        fmt::format("{}: {} disagrees with the certified enclosure of {}[{}]", problem.spec->id, witness, name, i));
  };
  const auto decisions = [&] { return Decisions{{}, {}, {}, instead}; };
  const std::string& first = problem.spec->forms[0].name;
  Decisions log = decisions();
  Witness witness(2 * bits);
  for (const auto& [name, values] : run(witness, problem, first, cotangents, &log))
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Ball& ball = certified.at(name)[i];
      if (!arb_is_finite(ball.get())) continue;
      arf_t value;
      arf_init(value);
      arf_set_mpfr(value, values[i].backend().data());
      const bool inside = arb_contains_arf(ball.get(), value);
      arf_clear(value);
      if (!inside) fail("Boost's MPFR", name, i);
    }
  for (const auto& form : problem.spec->forms) {
    if (form.name == first || !applies(form, problem)) continue;
    Decisions again = decisions();
    Certificate elsewhere(bits + 64);
    for (const auto& [name, values] : run(elsewhere, problem, form.name, cotangents, &again))
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Ball& ball = certified.at(name)[i];
        if (!arb_is_finite(ball.get()) && !arb_is_finite(values[i].get())) continue;
        if (!arb_overlaps(ball.get(), values[i].get())) fail("form " + form.name, name, i);
      }
  }
}

/// Ziv's loop: raises the precision until every element is decided.
CertifiedTensors decide_all(const Problem& problem, const Arrays& cotangents, const CertifyOptions& options,
                            const std::vector<Decisions::Choice>& instead, std::vector<double>& margin,
                            long& precision) {
  std::string undecided = "a branch";
  for (long bits = 128; bits <= options.precision_limit; bits *= 2) {
    Decisions log{{}, {}, {}, instead};
    try {
      const Values<Ball> values = run(Certificate(bits), problem, problem.spec->forms[0].name, cotangents, &log);
      CertifiedTensors tensors;
      bool all = true;
      for (const auto& [name, elements] : values) {
        auto& tensor = tensors[name];
        tensor.shape = shape_of_result(problem, name);
        for (std::size_t i = 0; all && i < elements.size(); ++i) {
          const auto decided = decide(elements[i], bits);
          if (!decided) {
            all = false;
            undecided = fmt::format("{}[{}]", name, i);
            break;
          }
          tensor.hi.push_back(decided->hi);
          tensor.lo.push_back(decided->lo);
        }
      }
      if (!all) continue;
      if (options.check_witnesses) check_witnesses(problem, cotangents, values, bits, instead);
      margin = log.margin;
      precision = bits;
      return tensors;
    } catch (const Undecided& branch) {
      undecided = fmt::format("the branch '{}'", branch.what());
    }
  }
  throw Uncertifiable(
      fmt::format("{}: {} is not decided at {} bits, the limit", problem.spec->id, undecided, options.precision_limit));
}

}  // namespace

bool applies(const FormDeclaration& form, const Problem& problem) {
  return holds(form.when, *problem.spec, problem.sizes, problem.parameters);
}

bool is_modelled(const FormDeclaration& form, const Problem& problem) {
  return !form.numeric && applies(form, problem);
}

const FormDeclaration& first_modelled_form(const Problem& problem) {
  for (const auto& form : problem.spec->forms)
    if (is_modelled(form, problem)) return form;
  throw SpecError(problem.spec->id + ": no form of the error model applies to these parameters");
}

CertifiedTensors error_model(const Problem& problem, const Arrays& cotangents, const PerChannel& largest_units,
                             reference::Rounds rounds) {
  first_modelled_form(problem);
  CertifiedTensors tensors;
  for (const auto& form : problem.spec->forms) {
    if (!is_modelled(form, problem)) continue;
    ErrorModel model(largest_units, rounds);
    merge_model(tensors, model, problem, run(model, problem, form.name, cotangents));
  }
  return tensors;
}

Certified certify(const Problem& problem, const Arrays& cotangents, const CertifyOptions& options) {
  check(problem);
  Certified result;
  result.outputs = decide_all(problem, cotangents, options, {}, result.margin, result.precision_bits);

  const auto narrow = error_model(problem, cotangents, narrow_units());
  CertifiedTensors model = narrow;
  if (exact_in(problem, DType::bf16) || exact_in(problem, DType::f16)) {
    auto wide = error_model(problem, cotangents, wide_units());
    if (wide_is_harmless(wide, narrow)) model = std::move(wide), result.units = "wide";
  }
  for (auto& [name, tensor] : result.outputs) tensor.bound = model.at(name).bound, tensor.rms = model.at(name).rms;

  if (!result.margin.empty()) {
    Decisions log;
    run(ErrorModel(result.units == "wide" ? wide_units() : narrow_units()), problem, problem.spec->forms[0].name, {},
        &log);
    const auto close = [&](std::size_t i) { return result.margin[i] <= log.error[i]; };
    std::size_t ways = 0;
    for (std::size_t i = 0; i < log.error.size(); ++i) {
      if (!close(i)) continue;
      if (log.others[i].empty())
        throw Uncertifiable(fmt::format("{}: too many choices are right, as too many scores tie", problem.spec->id));
      ways = std::max(ways, log.others[i].size());
    }
    for (std::size_t way = 0; way < ways; ++way) {
      std::vector<Decisions::Choice> instead(log.error.size());
      for (std::size_t i = 0; i < instead.size(); ++i)
        if (close(i)) instead[i] = log.others[i][std::min(way, log.others[i].size() - 1)];
      std::vector<double> margin;
      long precision;
      auto& alternative =
          result.alternatives.emplace_back(decide_all(problem, cotangents, options, instead, margin, precision));
      for (auto& [name, tensor] : alternative) tensor.bound = model.at(name).bound, tensor.rms = model.at(name).rms;
    }
  }
  return result;
}

Arrays evaluate_in_double(const Problem& problem, const std::string& form, const Arrays& cotangents) {
  Arrays arrays;
  for (auto& [name, values] : run(Binary64(), problem, form, cotangents))
    arrays[name] = {shape_of_result(problem, name), values};
  return arrays;
}

Enclosure enclose(const Problem& problem, const std::string& form, long precision_bits) {
  Enclosure result;
  for (const auto& [name, values] : run(Certificate(precision_bits), problem, form, {})) {
    auto& middle = result.middle[name];
    auto& radius = result.radius[name];
    middle.shape = radius.shape = shape_of_result(problem, name);
    for (const Ball& ball : values) {
      const double m = approximate(ball);
      middle.values.push_back(m);
      // the enclosure around its rounded midpoint
      radius.values.push_back(std::isfinite(m) ? mag_get_d(arb_radref(ball.get())) + std::abs(m) * 0x1p-53 : 0);
    }
  }
  return result;
}

}  // namespace attest::golden

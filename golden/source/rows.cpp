// SPDX-License-Identifier: MIT
#include "attest/golden/rows.hpp"

#include <fmt/format.h>

#include <exception>
#include <optional>

#include "attest/golden/case.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "model.hpp"

namespace attest::golden {

std::vector<std::string> stages_of(const Spec& spec, const FormDeclaration& form) {
  constexpr double kSmall = 1e5;
  std::vector<std::string> stages;
  for (const auto& name : stored_cases(spec)) {
    double work = 1;
    for (const auto& [_, size] : name.sizes) work *= static_cast<double>(std::max<Index>(size, 1));
    if (work > kSmall) continue;
    const Problem problem = draw(name);
    if (!applies(form, problem)) continue;
    for (const auto& label : reference::stages_of(problem, form.name))
      if (std::find(stages.begin(), stages.end(), label) == stages.end()) stages.push_back(label);
  }
  return stages;
}

namespace {

constexpr double kEnoughOfBound = 0x1p-20;
constexpr long kMostBits = 512;  // a branch that is open then is a tie which no precision decides

/// The first element whose radius is too large a part of its bound; nothing where all are close enough.
template <class F>
std::optional<std::string> too_wide(const Problem& problem, const CertifiedTensors& tensors, const Profile& profile,
                                    F&& radius) {
  for (const auto& [name, tensor] : tensors) {
    const auto units = profile.units_of(declaration_of(*problem.spec, name));
    for (std::size_t i = 0; i < tensor.bound[0].size(); ++i)
      if (!(radius(name, tensor, i) <= kEnoughOfBound * bound_of(tensor, i, units)))
        return fmt::format("{}[{}]", name, i);
  }
  return std::nullopt;
}

/// What is asked for: rows of outputs, or gradients with all outputs.
struct Wanted {
  const Problem& problem;
  const WantedRows& rows;
  const Arrays* cotangents;

  template <class Arithmetic>
  auto by(Arithmetic& arithmetic, const std::string& form, Decisions* decisions) const {
    return !cotangents ? outputs_of(arithmetic, problem, form, decisions, rows)
                       : run(arithmetic, problem, form, *cotangents, decisions);
  }
};

/// Bounds and expected sizes by the error model of those forms.
CertifiedTensors modelled(const Wanted& wanted, const PerChannel& units, const std::vector<std::string>& forms) {
  const Problem& problem = wanted.problem;
  const WantedRows& rows = wanted.rows;
  CertifiedTensors tensors;
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t f = 0; f < forms.size(); ++f) {
    try {
      ErrorModel model(units);
      Decisions log;
      const auto values = wanted.by(model, forms[f], &log);
      for (std::size_t i = 0; i < log.margin.size(); ++i)
        if (log.margin[i] <= log.error[i])
          throw Uncertifiable(
              fmt::format("{}: decision {} is too close to call: certify() has both answers", problem.spec->id, i));
#pragma omp critical(attest_modelled)
      merge_model(tensors, model, problem, values);
    } catch (...) {
#pragma omp critical(attest_modelled)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  for (const auto& output : problem.spec->outputs)
    if (const auto some = output.shape.empty() ? rows.end() : rows.find(output.shape[0]); some != rows.end())
      tensors.at(output.name).shape[0] = static_cast<Index>(some->second.size());
  return tensors;
}

/// Sets hi to one form's values in binary64 and lo to 0. Returns the first element whose own error is too large.
std::optional<std::string> by_binary64(CertifiedTensors& tensors, const Wanted& wanted, const Profile& profile,
                                       const std::string& form) {
  Binary64 plain;
  for (auto& [name, values] : wanted.by(plain, form, nullptr)) {
    auto& tensor = tensors.at(name);
    tensor.lo.assign(values.size(), 0);
    tensor.hi = std::move(values);
  }
  // Bounds hold at all units below those that they were taken at, those of binary64 among them. A value that is not
  // finite may be an overflow on the way: no radius is known.
  const auto& of_binary64 = golden::profile("f64").units;
  return too_wide(wanted.problem, tensors, profile,
                  [&](const std::string&, const CertifiedTensor& tensor, std::size_t i) {
                    return std::isfinite(tensor.hi[i]) ? bound_of(tensor, i, of_binary64)
                                                       : std::numeric_limits<double>::quiet_NaN();
                  });
}

/// Sets hi and lo to the midpoints of the definition's enclosures. Returns the first element whose radius is too large.
std::optional<std::string> by_arb(CertifiedTensors& tensors, const Wanted& wanted, const Profile& profile, long bits) {
  Certificate certificate(bits);
  const auto balls = wanted.by(certificate, wanted.problem.spec->forms[0].name, nullptr);
  for (const auto& [name, values] : balls) {
    auto& tensor = tensors.at(name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      tensor.hi[i] = approximate(values[i]);
      Ball rest;
      if (std::isfinite(tensor.hi[i])) arb_sub(rest.get(), values[i].get(), Ball(tensor.hi[i]).get(), bits);
      tensor.lo[i] = static_cast<float>(approximate(rest));
    }
  }
  return too_wide(wanted.problem, tensors, profile,
                  [&](const std::string& name, const CertifiedTensor& tensor, std::size_t i) {
                    const Ball& ball = balls.at(name)[i];
                    if (std::isnan(approximate(ball)))
                      return 0.0;  // the equation gives no number there: what is undecided has thrown
                    return mag_get_d(arb_radref(ball.get())) + std::abs(static_cast<double>(tensor.lo[i])) * 0x1p-24;
                  });
}

}  // namespace

EnclosedRows enclose_rows(const Problem& problem, const Profile& profile, const WantedRows& rows,
                          const EncloseOptions& options) {
  const auto& forms = options.forms;
  const Wanted wanted{problem, rows, options.cotangents};
  std::vector<std::string> asked;
  for (const auto& form : problem.spec->forms)
    if (forms.empty() ? is_modelled(form, problem) : std::find(forms.begin(), forms.end(), form.name) != forms.end())
      asked.push_back(form.name);
  if (asked.empty()) throw SpecError(problem.spec->id + ": no form of the error model applies to these parameters");
  EnclosedRows result{options.bounds ? *options.bounds : modelled(wanted, profile.units, asked), "binary64"};
  // The first form only: in binary64 others may leave its range.
  if (!by_binary64(result.outputs, wanted, profile, asked.front())) return result;
  std::string where = "a branch";
  for (long bits = 128; bits <= kMostBits; bits *= 2) {
    try {
      const auto wide = by_arb(result.outputs, wanted, profile, bits);
      result.rung = fmt::format("Arb, {} bits", bits);
      if (!wide) return result;
      where = *wide;
    } catch (const Undecided& branch) {
      where = fmt::format("the branch '{}'", branch.what());
    }
  }
  throw Uncertifiable(
      fmt::format("{}: {} is not close enough to judge by at {} bits, the limit", problem.spec->id, where, kMostBits));
}

}  // namespace attest::golden

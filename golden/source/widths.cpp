// SPDX-License-Identifier: MIT
#include "attest/golden/widths.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <map>

#include "model.hpp"

namespace attest::golden {
namespace {

/// The sum of the bounds of each result.
std::map<std::string, double> sums(const Problem& problem, const Arrays& cotangents, const std::string& form) {
  const PerChannel& units = profile("f32").units;
  ErrorModel model(units);
  CertifiedTensors tensors;
  merge_model(tensors, model, problem, run(model, problem, form, cotangents));
  std::map<std::string, double> sums;
  for (const auto& [name, tensor] : tensors)
    for (std::size_t i = 0; i < tensor.bound[0].size(); ++i) sums[name] += bound_of(tensor, i, units);
  return sums;
}

}  // namespace

std::vector<Width> widths(const Problem& problem, const Arrays& cotangents) {
  std::map<std::string, std::map<std::string, double>> of_form;
  for (const auto& form : problem.spec->forms)
    if (is_modelled(form, problem)) of_form[form.name] = sums(problem, cotangents, form.name);
  std::vector<Width> all;
  for (const auto& [form, results] : of_form) {
    Width width{form, form, "", 1};
    for (const auto& [result, sum] : results)
      for (const auto& [other, of_other] : of_form)
        if (const double least = of_other.at(result); sum > width.factor * least)
          width = {form, other, result, sum / least};
    all.push_back(std::move(width));
  }
  return all;
}

std::string WideForm::text() const {
  return fmt::format(
      "form '{}' makes the bounds of {} of {} cases wide, up to {:.2g} times those of form '{}' ({} in {})", worst.form,
      wide, modelled, worst.factor, worst.narrowest, worst.result, query);
}

std::vector<WideForm> wide_forms(const Spec& spec) {
  const auto cases = stored_cases(spec);
  std::vector<std::vector<Width>> of_case(cases.size());
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < cases.size(); ++i) try {
      of_case[i] = widths(draw(cases[i]), draw_cotangents(cases[i]));
    } catch (...) {
#pragma omp critical(attest_wide_forms)
      failure = std::current_exception();
    }
  if (failure) std::rethrow_exception(failure);
  std::map<std::string, WideForm> of_form;
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (const auto& width : of_case[i]) {
      WideForm& form = of_form[width.form];
      ++form.modelled;
      if (width.factor > kWide) ++form.wide;
      if (width.factor > form.worst.factor) form.worst = width, form.query = golden::query(cases[i], "f32");
    }
  std::vector<WideForm> wide;
  for (auto& [_, form] : of_form)
    if (form.wide > 0) wide.push_back(std::move(form));
  return wide;
}

}  // namespace attest::golden

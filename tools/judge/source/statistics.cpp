// SPDX-License-Identifier: MIT
#include "attest/judge/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attest::judge {
namespace {

/// A z from which on its digits are the processor's: an error below a millionth of c is the rounding of c's own sums.
constexpr double kBeyondDoubt = 1e6;

}  // namespace

std::string two_digits(double x) {
  const double size = std::abs(x);
  if (!(size >= 1 && size < 1e6)) return fmt::format("{:.2g}", x);
  const int decimals = 1 - static_cast<int>(std::floor(std::log10(size)));
  const double unit = std::pow(10.0, -decimals);
  return fmt::format("{:.{}f}", decimals > 0 ? x : std::round(x / unit) * unit, std::max(decimals, 0));
}

std::string near_one(double x) {
  if (x == 1 || std::abs(x - 1) >= 0.01) return fmt::format("{:.3g}", x);
  return fmt::format("1 {} {:.1g}", x < 1 ? '-' : '+', std::abs(x - 1));
}

std::string text_of_z(double z) { return std::abs(z) >= kBeyondDoubt ? "beyond doubt" : "z = " + two_digits(z); }

std::string Fit::text() const {
  if (std::abs(z) >= kBeyondDoubt) return fmt::format("c = {:.4g}, {}", c, text_of_z(z));
  const auto place = [](double x) { return std::floor(std::log10(std::abs(x))); };
  const int digits =
      std::isfinite(z) && z != 0 ? static_cast<int>(std::clamp(place(c) - place(error) + 1, 1.0, 7.0)) : 1;
  return fmt::format("c = {:.{}g} +- {:.1g}, {}", c, digits, error, text_of_z(z));
}

void Histogram::add(double residual) {
  const double bin = std::floor(residual * kPerUnit) + kPerUnit * kUnits;
  if (residual == 0)
    ++exact;
  else if (bin < 0)
    ++below;
  else if (bin >= static_cast<double>(bins.size()))
    ++above;
  else
    ++bins[static_cast<std::size_t>(bin)];
}

double Alarms::rms_z() const { return scores > 0 ? std::sqrt(z_squares / static_cast<double>(scores)) : 0; }

}  // namespace attest::judge

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attest/golden/store.hpp"

namespace attest::judge {

/// An element of an output, with what a correct kernel of the profile may be off by. All are in the output's unit.
struct Expected {
  double hi = 0, lo = 0;  // the certified value is hi + lo
  double sigma = 0;       // expected error; 0 where the element's error says nothing of rounding
  double bound = 0;

  /// got - (hi + lo).
  double difference(double got) const { return (got - hi) - lo; }
  /// In expected errors; NaN where sigma is 0.
  double residual(double got) const;
};

/// The largest error / bound; infinite where a value is not finite or not what a convention says.
double largest_error(const std::vector<Expected>& elements, const std::vector<double>& values);

/// Sums over the elements of cases for one correct kernel; statistics.hpp has the letters.
struct NullSums {
  std::vector<double> score;  // per fault: sum of r d
  double squares = 0;         // sum of r^2
  double signed_sum = 0;      // sum of r sign(truth)
  double worst = 0;           // error / bound
  Index elements = 0;         // with a residual

  void add(const NullSums& other);
  double mean_square() const;  // of r
  double bias() const;
};

using Null = std::map<std::string, NullSums>;  // by form and order of summation

/// Facts about a case before any kernel is judged by it.
struct CaseFacts {
  std::vector<Expected> elements;              // of every output, one after the other
  std::vector<std::vector<double>> direction;  // per fault: d of each element, 0 where it says nothing
  std::vector<double> norm;                    // per fault: sum of d^2
  std::vector<double> shown;                   // per fault: largest error / bound
  Null null;                                   // correct kernels
};

CaseFacts facts_of(const golden::GoldenCase& c, const Spec& spec, const golden::Profile& profile);

/// The problem with blocks of that length; as it is where none is given.
Problem with_block(Problem problem, std::optional<Index> block);

/// Values of every output in the order of CaseFacts::elements; NaN where an output is not given.
std::vector<double> flatten(const Problem& problem, const Arrays& arrays);

/// Expected error of an element in those units.
double sigma_of(const golden::CertifiedTensor& tensor, std::size_t i, const reference::PerChannel& units);

}  // namespace attest::judge

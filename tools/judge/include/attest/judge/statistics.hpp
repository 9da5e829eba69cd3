// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "attest/golden/store.hpp"

/// Tier T3: statistics over all errors of a kernel, each of which may be within its bound.
///
/// Over all cases, let i run over the elements whose expected error sigma_i is not zero (the root mean square error of
/// a correct kernel there, from the error model at the profile's units), and
///
///   r_i  = (got_i - truth_i) / sigma_i        the residual, in expected errors
///   d_ki = (fault_k_i - truth_i) / sigma_i    the direction of fault k: the whole of it, or one amplitude of it
///   S_k  = sum_i r_i d_ki                     the score of fault k
///   N_k  = sum_i d_ki^2                       its information
///
/// For errors r_i = c d_ki + e_i with independent e_i of variance 1, S_k / sqrt(N_k) is the score (Lagrange multiplier)
/// test of c = 0 and S_k / N_k the least-squares estimate of c: C. R. Rao, Large sample tests of statistical hypotheses
/// concerning several parameters with applications to problems of estimation, Proc. Cambridge Phil. Soc. 44 (1948),
/// 50-57. Rounding errors are neither independent nor of variance 1, so the variance is measured: on this kernel, and
/// on correct kernels of every form and order of summation, which are run on the same cases.
namespace attest::judge {

/// A kernel's outputs for one case.
struct Sample {
  const golden::GoldenCase* c = nullptr;  // with bounds for the profile that is judged by
  Arrays got;
  std::string
      batch_query{};  // of the batch that was called, where the case is one problem of it: the others may matter
};

/// One fault's share in the residual; all numbers without unit.
struct Fit {
  std::string fault;
  double c = 0;      // S / N: 1 where the whole fault is there; of a fault with an amplitude, in units of it
  double error = 0;  // of c: sqrt(v / N + w), v the kernel's scatter, w the mean square of c among correct kernels. v
                     // is the mean square of r without c d, at least that of most correct kernels
  double z = 0;      // c / error
  double p = 1;      // min(1, T erfc(|z| / sqrt 2)) for T score tests in the whole run (Bonferroni's correction)
  double explained = 0;  // share of sum r^2 that c d takes away: S^2 / (N sum r^2)

  /// Whether a correct kernel may well have given this. Where a fault gives NaN there are no numbers to show either.
  bool may_be_chance() const { return p > 0.01; }

  /// "c = 0.061 +- 0.0009, z = 68": the digits that the error leaves to c, two of z. Beyond doubt the error is the
  /// processor's rounding and not the kernel's, so it is not shown: "c = 1, beyond doubt".
  std::string text() const;
};

/// "z = 68", or "beyond doubt" from a million on.
std::string text_of_z(double z);

/// As %.2g, without an exponent from 1 to 1e6.
std::string two_digits(double x);

/// A factor; one that is nearly 1 as "1 - 2e-05".
std::string near_one(double x);

/// How many residuals lie where: exactly at 0, elsewhere from -5 to 5 in bins of 1 / 128, or beyond.
struct Histogram {
  static constexpr int kPerUnit = 128, kUnits = 5;

  std::array<Index, 2 * kPerUnit * kUnits> bins{};
  Index exact = 0, below = 0, above = 0;

  void add(double residual);
};

/// How a kernel's errors are distributed.
struct Statistics {
  Index elements = 0;         // with an expected error that is not zero, and a finite residual
  Histogram histogram;        // of r
  double rms = 0;             // sqrt(mean of r^2)
  double claimed_bits = 0;    // -log2 of the profile's largest unit, of accumulate, operand and store
  double bits = 0;            // effective bits: claimed_bits - log2(rms / u), u the median rms of correct kernels
  std::string behaves_like;   // the finest profile in whose expected errors the rms is at most 1; empty when none is
  double bias = 0;            // mean of r sign(truth), in expected errors: above 0, magnitudes are too large
  double bias_z = 0;          // bias / sqrt(u^2 / elements + mean square of the bias of correct kernels)
  std::vector<Fit> fits;      // of every fault by itself, the largest |z| first
  std::vector<Fit> joint;     // of faults that are needed together, by least squares at once; each explained is of all
  std::vector<Fit> rejected;  // faults with an amplitude that are there beyond doubt, the largest share first
};

/// False alarms: findings against correct kernels of many forms and orders.
struct Alarms {
  Index judged = 0;  // kernels x cases
  Index raised = 0;
  double largest_z = 0;  // of any score test, without sign
  std::string first;     // what the first alarm was
  double z_squares = 0;  // sum over all score tests
  Index scores = 0;      // score tests

  /// 1 where the scores of correct kernels scatter as much as their errors say.
  double rms_z() const;
};

}  // namespace attest::judge

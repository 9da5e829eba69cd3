// SPDX-License-Identifier: MIT
#include "attest/judge/packed.hpp"

#include "bytes.hpp"
#include "covering_members.hpp"
#include "precision_members.hpp"

namespace attest::judge {

ATTEST_MEMBERS(Fit, fault, c, error, z, p, explained)
ATTEST_MEMBERS(Histogram, bins, exact, below, above)
ATTEST_MEMBERS(Statistics, elements, histogram, rms, claimed_bits, bits, behaves_like, bias, bias_z, fits, joint,
               rejected)
ATTEST_MEMBERS(Alarms, judged, raised, largest_z, first, z_squares, scores)
ATTEST_MEMBERS(Reach, calls, second_thread, replayed, law_calls, never_varied, restricted)
ATTEST_MEMBERS(Vacuity, elements, distinct, nan_share, zeros_differ, mean_differs, faults_shown, faults, hidden,
               too_little)
ATTEST_MEMBERS(Element, output, flat, at, got, expected, error, bound)
ATTEST_MEMBERS(WeightMap, input, output, query, head, rows, columns, got, expected, bound, sentences)
ATTEST_MEMBERS(StageChange, kind, place, format, amount, error, due, size)
ATTEST_MEMBERS(StageName, changes, form, explained, alike)
ATTEST_MEMBERS(Name, fault, whole, failing, block, outputs, fit, failing_cases, shown_in_passing)
ATTEST_MEMBERS(Diagnosis, names, together, stage, first, query, where, values)
ATTEST_MEMBERS(Finding, status, query, message, tier, group, waiver)
ATTEST_MEMBERS(Group, judged, passed, skipped)
ATTEST_MEMBERS(KernelId, equation, form, reading, dtype, profile, layout, capabilities)
ATTEST_MEMBERS(CaseCounts, judged, passed, stored, drawn, left_out)
ATTEST_MEMBERS(LawCounts, judged, held, not_applicable)
ATTEST_MEMBERS(LevelCounts, text, judged, passed)
ATTEST_MEMBERS(AxisCounts, name, levels)
ATTEST_MEMBERS(PairCounts, first, second, all, possible, visited)
ATTEST_MEMBERS(RegimeCounts, strength, judged, passed, visited, possible, excluded, not_visited, left_out, whole,
               unseen, shown_nowhere, fails_when, condition_calls, axes, pairs)
ATTEST_MEMBERS(Refusals, cases, regimes, answered, message, query, condition, left, excluded)
ATTEST_MEMBERS(Errors, elements, worst, worst_query, maps)
ATTEST_MEMBERS(EarlyEnd, by, not_run)
ATTEST_MEMBERS(Row, kernel, cases, laws, regimes, real, refusals, errors, early_end, groups, failures, notes,
               statistics, vacuity, diagnosis, precision, map, reach, status)
ATTEST_MEMBERS(Mutant, equation, fault, profile, killed, tier, rank, named, shown, hidden)
ATTEST_MEMBERS(MutantsReport::Orders, equation, profile, kernels, cases, alarms)
ATTEST_MEMBERS(MutantsReport::Conditions, equation, profile, kernels, killed, survived)
ATTEST_MEMBERS(MutantsReport, mutants, orders, conditions)
ATTEST_MEMBERS(Share, stand, listed, declared)
ATTEST_MEMBERS(Coverage, id, title, status, forms, laws, faults, errata, claims, golden, gradient, kernels, open,
               declared, left_out)

std::string packed(const std::vector<Row>& rows) { return bytes_of(rows); }
std::string packed(const MutantsReport& report) { return bytes_of(report); }
std::string packed(const Coverage& row) { return bytes_of(row); }
std::string packed(const Covering& covering) { return bytes_of(covering); }
std::vector<Row> unpacked_rows(const std::string& bytes) { return value_of<std::vector<Row>>(bytes); }
MutantsReport unpacked_mutants(const std::string& bytes) { return value_of<MutantsReport>(bytes); }
Coverage unpacked_coverage(const std::string& bytes) { return value_of<Coverage>(bytes); }
Covering unpacked_covering(const std::string& bytes) { return value_of<Covering>(bytes); }

}  // namespace attest::judge

# Mutants of the judge itself. Each is one replacement in one source file, linked in front of the library that the
# file belongs to, and the named unit test must report a failure: a judge that is broken like this is noticed.

# attest_mutant(name file "program/Suite.Test" find replacement)
function(
  attest_mutant
  name
  file
  test
  find
  replacement
)
  set(original ${PROJECT_SOURCE_DIR}/${file})
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}.cpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
  file(READ ${original} source)
  string(REPLACE "${find}" "${replacement}" mutant "${source}")
  if(mutant STREQUAL source)
    message(FATAL_ERROR "tests/self/mutants: ${name}: the text to be replaced is no longer in ${file}")
  endif()
  file(CONFIGURE OUTPUT ${mutated} CONTENT "${mutant}" @ONLY)
  string(REGEX MATCH "^[^/]+" program ${test})
  string(REGEX REPLACE "^[^/]+/" "" filter ${test})
  attest_unit(attest_mutant_${name} ${program} ${mutated})
  get_filename_component(folder ${original} DIRECTORY)
  target_include_directories(attest_mutant_${name} PRIVATE ${folder}) # headers that are private to the judge
  target_link_libraries(attest_mutant_${name} PRIVATE Eigen3::Eigen OpenMP::OpenMP_CXX)
  target_compile_options(attest_mutant_${name} PRIVATE -O0)
  add_test(NAME mutants/${name} COMMAND ${rotating} 3 $<TARGET_FILE:attest_mutant_${name}> --gtest_filter=${filter})
  # Not WILL_FAIL: a crash proves nothing.
  set_tests_properties(
    mutants/${name}
    PROPERTIES
      PASS_REGULAR_EXPRESSION "[1-9] FAILED TEST"
      SKIP_RETURN_CODE 77
      TIMEOUT 300
      FIXTURES_REQUIRED mutants/build
  )
  set(judge_mutants ${judge_mutants} attest_mutant_${name} PARENT_SCOPE)
endfunction()

# The comparison of one case.
attest_mutant(
  only_the_last_row_counts
  tools/judge/source/verdict.cpp
  verdict/Verdict.EveryWrongElementIsCountedNotOnlyTheLastColumn
  "      elements.clear();\n"
  "      result.failed = 0, result.first.reset();\n      elements.clear();\n"
)
attest_mutant(
  nan_matches_everything
  golden/source/agreement.cpp
  verdict/Verdict.NaNAndInfinityFailWhereverTheyStand
  "return error <= bound || std::isinf(bound);"
  "return !(error > bound);"
)
attest_mutant(
  one_right_element_is_enough
  tools/judge/source/verdict.cpp
  verdict/Verdict.JustInsideTheBoundPassesAndJustOutsideFails
  "  return result;\n}\n\nstd::vector<std::string> exact_outputs"
  "  if (result.failed < result.compared) result.failed = 0;
  return result;
}

std::vector<std::string> exact_outputs"
)
attest_mutant(
  an_alternative_is_mixed_into_a_row
  tools/judge/source/verdict.cpp
  verdict/Verdict.AnAlternativeIsAcceptedByWholeRowsOnly
  "if (all) elements.swap(alternative);"
  "for (std::size_t e = 0; e < elements.size(); ++e)
          if (within(alternative[e])) elements[e] = alternative[e];"
)
attest_mutant(
  bounds_are_100_times_larger
  golden/source/agreement.cpp
  verdict/Verdict.JustInsideTheBoundPassesAndJustOutsideFails
  "  return bound;"
  "  return 100 * bound;"
)

attest_mutant(
  an_exact_family_has_a_bound
  tools/judge/source/verdict.cpp
  verdict/Verdict.AnExactFamilyAllowsNotOneUlp
  "const auto exact = exact_outputs(c.name);"
  "const std::vector<std::string> exact;"
)

# Statistics over all elements.
attest_mutant(
  the_score_test_rejects_nobody
  tools/judge/source/scores.cpp
  faults/Attention.AScaleOffByTwoToTheMinus16IsNamedWithItsAmplitude
  "constexpr double kFamilyWise = 1e-6;"
  "constexpr double kFamilyWise = -1;"
)
attest_mutant(
  a_few_units_reject
  tools/judge/source/scores.cpp
  faults/Attention.AnAmplitudeOfAFewUnitsRejectsNobody
  "constexpr double kFewUnits = 8;"
  "constexpr double kFewUnits = 0;"
)
attest_mutant(
  digits_of_the_processor_are_shown
  tools/judge/source/statistics.cpp
  numbers/Numbers.BeyondDoubtTheProcessorsDigitsAreNotShown
  "constexpr double kBeyondDoubt = 1e6;"
  "constexpr double kBeyondDoubt = 1e12;"
)
attest_mutant(
  empty_cases_prove_enough
  tools/judge/source/judge_kernel.cpp
  faults/Attention.CasesThatProveNothingAreInvalid
  "else if (!row.vacuity.too_little.empty())"
  "else if (false)"
)
attest_mutant(
  any_infinity_is_the_nan_of_a_fault
  tools/judge/source/diagnosis.cpp
  faults/Attention.AnInfinityIsNotTheNanOfAFault
  "if (!golden::agrees(tensor, i, x, units)) return false;"
  "if (std::isfinite(tensor.hi[i]) ? !golden::agrees(tensor, i, x, units) : std::isfinite(x)) return false;"
)
attest_mutant(
  a_survivor_passes
  tools/judge/source/mutants.cpp
  faults/Mutants.ASurvivorOrAFalseAlarmFails
  "if (mutant.hidden.empty() && !mutant.killed) return false;"
  ""
)

# Long jobs.
attest_mutant(
  a_damaged_record_is_a_result
  tools/jobs/source/journal.cpp
  jobs/Journal.AFileThatIsCutOrDamagedLosesItemsAndNothingElse
  "if (golden::sha256(head + body) != hash || "
  "if ("
)
attest_mutant(
  results_are_in_the_order_in_which_they_come
  tools/jobs/source/job.cpp
  jobs/Job.ResultsAreInTheOrderOfTheItemsOnAnyNumberOfRanks
  "results_[finished->item] = std::move(finished->result);"
  "results_[given_ - 1] = std::move(finished->result);"
)
attest_mutant(
  another_build_helps
  tools/jobs/source/job.cpp
  jobs/Job.RanksOfAnotherBuildAreRefused
  "if (message[\"what\"] != what)"
  "if (false)"
)

# From cases and laws to the verdict.
attest_mutant(
  right_values_excuse_a_broken_contract
  tools/judge/source/judge_cases.cpp
  check/Check.ACaseWhoseValuesAreRightFailsByTheContract
  "    finding.status = answers.status;\n"
  ""
)
attest_mutant(
  nothing_is_asked_at_the_end
  tools/judge/source/judge_again.cpp
  again/Again.AKernelThatIsWrongLaterIsWrong
  "    later.cases(first, last);\n"
  ""
)
attest_mutant(
  later_answers_may_have_other_bits
  tools/judge/source/asked.cpp
  again/Again.AnAnswerOfOtherBitsIsAnotherAnswer
  "!= known->second.bits)"
  "!= known->second.bits && false)"
)
attest_mutant(
  regimes_have_no_address_twice
  tools/judge/source/contract.cpp
  again/Again.WhatIsWrongInOneWayOfCallingRegimesAloneIsWrong
  "{kCalls[2].differs, kCalls[2].placement, kPoison[1]}"
  "{kCalls[2].differs, kCalls[0].placement, kPoison[1]}"
)
attest_mutant(
  rows_are_laid_out_densely
  tools/judge/source/memory.cpp
  regimes/Memory.AViewOfAnyShapeHoldsEveryElementAndFillsTheRest
  "  if (step == width) {\n"
  "  if (step >= width) {\n"
)
attest_mutant(
  the_second_thread_is_the_first
  tools/judge/source/contract.cpp
  again/Again.AKernelThatIsWrongOffItsThreadIsWrong
  "    how.second_thread = call.second_thread;\n"
  ""
)
attest_mutant(
  a_law_agrees_with_nan
  tools/judge/source/run_law.cpp
  every_equation/*NaNBeyondTheStoredSizesBreaksEveryLaw?attention_softmax
  "if (std::none_of("
  "if (true || std::none_of("
)
attest_mutant(
  a_broken_law_is_not_shrunk
  tools/judge/source/run_law.cpp
  run_law/RunLaw.ABrokenLawIsShrunkToTheSmallestProblemThatBreaksIt
  "while (!result.threw) {"
  "while (false) {"
)
attest_mutant(
  threads_share_a_generator
  tools/judge/source/run_law.cpp
  run_law/RunLaw.ThreadsDrawWhatEachDrawsAlone
  "  rc::Random random(seed);"
  "  static rc::Random random(seed);"
)
attest_mutant(
  no_case_is_a_pass
  tools/judge/source/judge_kernel.cpp
  check/Check.NothingJudgedIsNotAPass
  "  if (!row.failures.empty()) return;\n"
  "  return;\n"
)
attest_mutant(
  a_law_that_did_not_apply_was_held
  tools/judge/source/judge_laws.cpp
  check/Check.ALawThatDidNotApplyWasNotHeld
  "if (run.draws == 0 && !run.broken)"
  "if (false)"
)
attest_mutant(
  sequences_are_packed_alone
  tools/judge/source/true_values.cpp
  check/Packed.MistakesAcrossSequencesAndHeadsAreFound
  "  if (kernel.ragged_sizes().empty()) return problems;"
  "  return problems;"
)
attest_mutant(
  nothing_lies_around_a_tensor_on_a_device
  tools/judge/source/endpoint.cpp
  process/OnDevice.writes_outside_of_a_tensor_are_found
  "? 0 : device_slack;"
  "? 0 : 0 * device_slack;"
)
attest_mutant(
  a_busy_machine_makes_kernels_hang
  tools/judge/source/deadline.cpp
  process/Kernel.gets_longer_where_it_waits_for_a_processor
  "  return again;"
  "  return 0 * again;"
)
attest_mutant(
  every_exit_status_is_0
  tools/judge/source/report.cpp
  check/Check.OnlyAPassHasExitStatusZero
  "return status == Status::pass ? 0 : status == Status::fail ? 1 : 3;"
  "return static_cast<int>(status) * 0;"
)

# Memory of a call, and what is kept from run to run.
attest_mutant(
  tensors_stay_mapped
  tools/judge/source/worker_call.cpp
  process/Kernel.writes_after_it_returned
  "  add(workspace_);\n  together.unmap();\n"
  "  add(workspace_);\n"
)
attest_mutant(
  what_is_kept_is_never_compared
  tools/judge/source/cache.cpp
  cache/FactsInACache.AreFoundOutWhereTheyAreWrong
  "  else if (made != *kept)\n"
  "  else if (false)\n"
)
attest_mutant(
  precision_is_kept_without_the_answers
  tools/judge/source/precision.cpp
  precision/Precision.IsKeptForTheSameAnswersOnly
  "      all.put(sample->got);\n"
  ""
)
attest_mutant(
  facts_are_kept_by_name_alone
  tools/judge/source/bank.cpp
  cache/FactsInACache.AreOfTheFileThatTheCaseIsReadFrom
  "golden::sha256(bytes_of(std::pair(c.problem.inputs, c.certified)))"
  "std::string()"
)

# Waivers.
attest_mutant(
  waivers_never_expire
  tools/judge/source/waivers.cpp
  waivers/Waivers.HoldUntilTheEndOfTheirLastDay
  "waiver.expires < day"
  "false"
)
attest_mutant(
  a_waiver_covers_what_was_not_judged
  tools/judge/source/waivers.cpp
  waivers/Waivers.DoNotCoverWhatIsInvalid
  "(finding.status == Status::fail || finding.status == Status::crashed) && "
  ""
)
attest_mutant(
  a_waiver_of_a_kernel_that_passes_stays
  tools/judge/source/waivers.cpp
  waivers/Waivers.HaveAProblemWhereNothingFails
  "waiver.failures > before || "
  "true || "
)

# The selection of cases, and the golden files.
attest_mutant(
  nothing_is_selected
  tools/judge/source/select.cpp
  check/Check.ACorrectKernelPasses
  "  return selection;"
  "  return {};"
)
attest_mutant(
  no_case_is_fresh
  tools/judge/source/select.cpp
  check/Selection.HoldsTheStoredCasesThenFreshOnes
  "  add_fresh(selection, spec, capabilities, profile, seed, gradients);\n"
  ""
)
attest_mutant(
  a_comment_makes_golden_files_stale
  golden/source/sources.cpp
  sources/SourceHash.CommentsAndWhiteSpaceChangeNothing
  "texts_[key] = canonical(text);"
  "texts_[key] = text;"
)
attest_mutant(
  a_rounding_rule_makes_no_golden_file_stale
  golden/source/sources.cpp
  sources/SourceHash.ARoundingRuleChangesTheHashOfEveryEquation
  "    for (const auto& source : implemented_by_[key]) follow(source);\n"
  ""
)
attest_mutant(
  a_gradient_of_mpfr_is_doubled
  golden/source/certify.cpp
  arithmetics/Certificate.GradientsHaveTheSameWitnessesAsOutputs
  "run(witness, problem, first, cotangents, &log)"
  "[&] {
     auto twice = cotangents;
     for (auto& [_, c] : twice)
       for (double& x : c.values) x *= 2;
     return run(witness, problem, first, twice, &log);
   }()"
)
attest_mutant(
  a_gradient_of_another_form_is_doubled
  golden/source/certify.cpp
  arithmetics/Certificate.GradientsHaveTheSameWitnessesAsOutputs
  "run(elsewhere, problem, form.name, cotangents, &again)"
  "[&] {
     auto twice = cotangents;
     for (auto& [_, c] : twice)
       for (double& x : c.values) x *= 2;
     return run(elsewhere, problem, form.name, twice, &again);
   }()"
)
attest_mutant(
  a_stale_golden_file_is_accepted
  golden/source/store.cpp
  store/LoadGolden.RefusesAFileThatIsNotTheManifests
  "if (sha256(bytes) != entry.sha256)"
  "if (false)"
)

# Real sizes.
attest_mutant(
  probes_are_in_the_first_row_alone
  golden/source/draw.cpp
  real_sizes/RealSizes.TheLastKeyOfTheLastTileIsMissed
  "row == probed[static_cast<std::size_t>(column)] ?"
  "row == 0 ?"
)
attest_mutant(
  two_heads_of_a_large_batch_are_judged
  tools/judge/source/true_values.cpp
  real_sizes/RealSizes.AHeadThatAnswersAsAnotherIsSeen
  "Plan plan = with(std::min(problems, kRows / kFewest));"
  "Plan plan = with(std::min<std::size_t>(problems, 2));"
)
attest_builds(mutants/build 3 ${judge_mutants})

# Their reports are what the test of coverage says of kernels, and their output is what specs/coverage.md shows.
set(record ${CMAKE_CURRENT_SOURCE_DIR}/record.sh)
set(records ${PROJECT_BINARY_DIR}/records)
add_test(
  NAME check_openmp
  COMMAND
    ${record} ${records}/check_openmp.txt $<TARGET_FILE:attest-cli> check openmp --strength 1 --json
    ${PROJECT_BINARY_DIR}/check_openmp.json
)
add_test(
  NAME check_cuda_emulated
  COMMAND
    ${sweep} $<TARGET_FILE:attest-cli> check cuda-emulated --strength 0 --json
    ${PROJECT_BINARY_DIR}/check_cuda_emulated.json
)
set_tests_properties(
  check_openmp
  check_cuda_emulated
  PROPERTIES TIMEOUT 2400 FIXTURES_SETUP reports COST ${cost_awaited}
)
set_tests_properties(
  cli/test_coverage
  PROPERTIES TIMEOUT 2400 FIXTURES_REQUIRED reports COST ${cost_awaited}
)
add_test(
  NAME check_reference
  COMMAND attest-cli check reference --strength 0
)
# Kernels that take another path on a device without matrix products of warpgroups.
add_test(
  NAME check_cuda_emulated/capability_80
  COMMAND ${rotating} 2 $<TARGET_FILE:attest-cli> check cuda-emulated --strength 0 --only attention.scaled_dot_product
)
set_tests_properties(
  check_cuda_emulated/capability_80
  PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77 ENVIRONMENT ATTEST_CUDA_EMULATED_CAPABILITY=80 COST ${cost_long}
)
# The mutation score of every equation; the full thousand seeds are for `attest mutants` by hand.
add_test(
  NAME mutation_score
  COMMAND ${record} ${records}/mutation_score.txt ${sweep} $<TARGET_FILE:attest-cli> mutants --seeds 40 --strength 1
)
set_tests_properties(mutation_score PROPERTIES TIMEOUT 2400 COST ${cost_awaited})
# Queries that see nothing, in a block that has no others: NaN is due, and a kernel that leaves out what no query sees
# has nothing to add.
add_test(
  NAME check_cuda_emulated/nothing_seen
  COMMAND
    attest-cli reproduce
    "attest:attention.scaled_dot_product:f32;n=1;s=64;d=8;m=4;empty_row=nan;flag=empty_row;with=mask;grid=5x8x4"
    cuda-emulated
)
set_tests_properties(check_cuda_emulated/nothing_seen PROPERTIES TIMEOUT 300)
# Every pair of conditions; of all CUDA kernels by hand: attest check cuda-emulated --single-calls --laws 0.
add_test(
  NAME check_cuda_emulated/regimes
  COMMAND attest-cli check cuda-emulated --single-calls --only linear.causal_step
)
set_tests_properties(check_cuda_emulated/regimes PROPERTIES TIMEOUT 600)

# cli/test_*.py drive the attest command as a user does.
set(
  environment
  ATTEST_CLI=$<TARGET_FILE:attest-cli>
  ATTEST_PROJECT_DIR=${PROJECT_SOURCE_DIR}
  ATTEST_BUILD_DIR=${PROJECT_BINARY_DIR}
  CC=${CMAKE_C_COMPILER}
)
attest_scripts(cli environment TIMEOUT 1800 COST ${cost_of_a_script})

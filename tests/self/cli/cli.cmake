# cli/test_*.py drive the attest command as a user does.
set(
  environment
  ATTEST_CLI=$<TARGET_FILE:attest-cli>
  ATTEST_PROJECT_DIR=${PROJECT_SOURCE_DIR}
  ATTEST_BUILD_DIR=${PROJECT_BINARY_DIR}
  CC=${CMAKE_C_COMPILER}
)
file(GLOB scripts CONFIGURE_DEPENDS cli/test_*.py)
foreach(script ${scripts})
  get_filename_component(stem ${script} NAME_WE)
  attest_in_turn(in_turn ${script})
  add_test(NAME cli/${stem} COMMAND ${in_turn} ${Python3_EXECUTABLE} ${script} -v)
  set_tests_properties(
    cli/${stem}
    PROPERTIES TIMEOUT 1800 SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}" COST ${cost_of_a_script}
  )
endforeach()

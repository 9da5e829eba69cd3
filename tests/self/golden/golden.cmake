# Golden files are the same bytes for any number of threads and either compiler.
add_test(
  NAME golden/same_bytes_for_any_number_of_threads
  COMMAND ${sweep} ${CMAKE_CURRENT_SOURCE_DIR}/golden/regenerate.sh ${PROJECT_BINARY_DIR}
)
find_program(ATTEST_CLANG clang++)
if(ATTEST_CLANG)
  add_test(
    NAME golden/same_bytes_from_clang
    COMMAND ${sweep} ${CMAKE_CURRENT_SOURCE_DIR}/golden/regenerate.sh ${PROJECT_BINARY_DIR} clang
  )
  set_tests_properties(
    golden/same_bytes_from_clang
    PROPERTIES TIMEOUT 3000 SKIP_RETURN_CODE 77 COST ${cost_long}
  )
endif()

# A project that uses an installed attest.
add_test(NAME consumer COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/consumer/run.sh ${PROJECT_BINARY_DIR})
set_tests_properties(consumer PROPERTIES TIMEOUT 600)
if(CMAKE_BUILD_TYPE STREQUAL "Release") # a folder with debug information is beyond its limit
  add_test(NAME portable COMMAND ${rotating} 3 ${CMAKE_CURRENT_SOURCE_DIR}/consumer/portable.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(
    portable
    PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 COST ${cost_long}
  )
endif()

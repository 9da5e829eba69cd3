# How the sources are written. tools/format needs git's list of files.
if(EXISTS ${PROJECT_SOURCE_DIR}/.git)
  add_test(NAME format COMMAND ${PROJECT_SOURCE_DIR}/tools/format --check)
  set_tests_properties(format PROPERTIES LABELS style TIMEOUT 300)
endif()
add_test(NAME tidy COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tidy.sh ${PROJECT_BINARY_DIR})
set_tests_properties(tidy PROPERTIES LABELS style TIMEOUT 3600)

# How the sources are written. tools/format needs git's list of files.
if(EXISTS ${PROJECT_SOURCE_DIR}/.git)
  add_test(NAME format COMMAND ${PROJECT_SOURCE_DIR}/tools/format --check)
  set_tests_properties(format PROPERTIES LABELS style TIMEOUT 300)
endif()
# What clang-tidy sees in a ninth of the sources; of all by hand: tools/tidy.
add_test(
  NAME tidy
  COMMAND ${sweep} --small ${PROJECT_SOURCE_DIR}/tools/tidy --build ${PROJECT_BINARY_DIR}
)
set_tests_properties(
  tidy
  PROPERTIES LABELS style TIMEOUT 1800 PROCESSORS 2 COST ${cost_long}
)

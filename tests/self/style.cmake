# How the sources are written. tools/format needs git's list of files.
if(EXISTS ${PROJECT_SOURCE_DIR}/.git)
  add_test(NAME format COMMAND ${PROJECT_SOURCE_DIR}/tools/format --check)
  set_tests_properties(format PROPERTIES LABELS style TIMEOUT 300)
endif()

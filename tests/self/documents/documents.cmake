# Pages: what their commands print is what they show, and links lead somewhere.
function(attest_page_test name)
  add_test(NAME documents/${name} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/docs ${ARGN})
  set_tests_properties(documents/${name} PROPERTIES TIMEOUT 900 ENVIRONMENT "ATTEST_BUILD_DIR=${PROJECT_BINARY_DIR}")
endfunction()
attest_page_test(static --static)
set(
  folders
  specs
  reference
  golden
  optimized
  tests
  tools
)
list(TRANSFORM folders REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*.md")
file(GLOB_RECURSE pages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${folders})
foreach(page README.md ${pages})
  file(STRINGS ${PROJECT_SOURCE_DIR}/${page} commands REGEX "^```console")
  if(commands)
    attest_page_test(${page} --check ${page})
  endif()
endforeach()
add_test(NAME documents/handbook COMMAND attest-cli handbook --check)
set_tests_properties(documents/handbook PROPERTIES ENVIRONMENT "ATTEST_PROJECT_DIR=${PROJECT_SOURCE_DIR}")
set_property(TEST check_openmp mutation_score cli/test_coverage APPEND PROPERTY FIXTURES_SETUP records)
set_tests_properties(documents/specs/coverage.md PROPERTIES FIXTURES_REQUIRED records)

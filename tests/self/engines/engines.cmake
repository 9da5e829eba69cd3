# The vectors and the engines of the OpenMP kernels.
add_executable(attest_test_simd engines/simd.cpp $<TARGET_OBJECTS:attest_unit_main>)
target_link_libraries(attest_test_simd PRIVATE attest::contract attest::judge GTest::gtest)
target_include_directories(
  attest_test_simd
  PRIVATE ${PROJECT_SOURCE_DIR}/optimized/openmp/include ${CMAKE_CURRENT_SOURCE_DIR}/engines
)
target_compile_definitions(attest_test_simd PRIVATE ATTEST_UNCHECKED_VIEWS)
attest_setup(attest_test_simd)
gtest_discover_tests(attest_test_simd TEST_PREFIX "engines/simd/" DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)

foreach(engine attend recur rows)
  add_executable(
    attest_test_${engine}
    engines/${engine}.cpp
    $<TARGET_OBJECTS:attest_engines>
    $<TARGET_OBJECTS:attest_unit_main>
  )
  target_link_libraries(attest_test_${engine} PRIVATE attest_engines attest::judge GTest::gtest)
  attest_setup(attest_test_${engine})
  # Each set of vector instructions that the processor has; the tests of the others are skipped.
  foreach(simd sse4 avx2 avx512)
    gtest_discover_tests(
      attest_test_${engine}
      TEST_PREFIX "engines/${engine}_${simd}/"
      DISCOVERY_MODE PRE_TEST
      PROPERTIES TIMEOUT 300 ENVIRONMENT ATTEST_SIMD=${simd}
    )
  endforeach()
endforeach()

# Mistakes in an engine that the judge must find.
add_test(
  NAME mutants/openmp
  COMMAND
    ${rotating} 3 ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/mutants/openmp/mutants.py --cxx
    ${CMAKE_CXX_COMPILER} --cli $<TARGET_FILE:attest-cli> --folder ${CMAKE_CURRENT_BINARY_DIR}/mutants/openmp --objects
    $<TARGET_OBJECTS:attest_openmp> $<TARGET_OBJECTS:attest_engines>
  COMMAND_EXPAND_LISTS
)
set_tests_properties(
  mutants/openmp
  PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77 COST ${cost_long}
)

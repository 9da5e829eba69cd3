# A mutant of the chunked kernel: its state is dropped at the third chunk.
set(original "${PROJECT_SOURCE_DIR}/optimized/openmp/linear/causal.cpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
file(READ ${original} source)
set(
  carry
  "    state.noalias() += x.k.middleRows(first, count).transpose() * x.v.middleRows(first, count);
  }
  store(state, out);"
)
string(REPLACE "${carry}" "    if (first == 2 * chunk) state = carried(in);\n${carry}" mutated "${source}")
if(mutated STREQUAL source)
  message(FATAL_ERROR "tests/self: the text that the mutant carry_dropped replaces is no longer in ${original}")
endif()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/mutants/carry_dropped/causal.cpp CONTENT "${mutated}" @ONLY)
add_library(
  attest_mutant_carry_dropped
  MODULE
  mutants/carry_dropped.cpp
  ${CMAKE_CURRENT_BINARY_DIR}/mutants/carry_dropped/causal.cpp
  ${PROJECT_BINARY_DIR}/generated/openmp/linear.causal.cpp
)
set_source_files_properties(${PROJECT_BINARY_DIR}/generated/openmp/linear.causal.cpp PROPERTIES GENERATED TRUE)
add_dependencies(attest_mutant_carry_dropped attest_generated)
target_include_directories(attest_mutant_carry_dropped PRIVATE ${PROJECT_SOURCE_DIR}/optimized/openmp/include)
target_include_directories(attest_mutant_carry_dropped SYSTEM PRIVATE ${ATTEST_DLPACK_INCLUDE})
target_link_libraries(attest_mutant_carry_dropped PRIVATE attest::contract Eigen3::Eigen OpenMP::OpenMP_CXX)
set_target_properties(
  attest_mutant_carry_dropped
  PROPERTIES OUTPUT_NAME carry_dropped LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/plugins
)
attest_setup(attest_mutant_carry_dropped)
add_dependencies(attest_test_carry_dropped attest_mutant_carry_dropped attest_openmp)
add_dependencies(attest_test_faults attest_mutants_plugin)

# The chunked kernel with its state dropped at the third chunk, patched from the real source.
set(honest "${PROJECT_SOURCE_DIR}/optimized/openmp/linear/causal.cpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${honest})
file(READ ${honest} source)
set(
  carry
  "    state.noalias() += x.k.middleRows(first, count).transpose() * x.v.middleRows(first, count);
  }
  store(state, out);"
)
string(REPLACE "${carry}" "    if (first == 2 * chunk) state = carried(in);\n${carry}" planted "${source}")
if(planted STREQUAL source)
  message(FATAL_ERROR "tests/planted: the line to be patched is no longer in ${honest}")
endif()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/planted/causal.cpp CONTENT "${planted}" @ONLY)
add_library(
  attest_planted_carry_dropped
  MODULE
  planted/carry_dropped.cpp
  ${CMAKE_CURRENT_BINARY_DIR}/planted/causal.cpp
  ${PROJECT_BINARY_DIR}/generated/openmp/linear.causal.cpp
)
set_source_files_properties(${PROJECT_BINARY_DIR}/generated/openmp/linear.causal.cpp PROPERTIES GENERATED TRUE)
add_dependencies(attest_planted_carry_dropped attest_generated)
target_include_directories(
  attest_planted_carry_dropped
  PRIVATE ${PROJECT_SOURCE_DIR}/optimized/openmp/include
  SYSTEM
  ${ATTEST_DLPACK_INCLUDE}
)
target_link_libraries(attest_planted_carry_dropped PRIVATE attest::contract Eigen3::Eigen OpenMP::OpenMP_CXX)
set_target_properties(
  attest_planted_carry_dropped
  PROPERTIES OUTPUT_NAME carry_dropped LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/plugins
)
attest_setup(attest_planted_carry_dropped)
add_dependencies(attest_test_planted attest_planted_carry_dropped attest_openmp)
add_dependencies(attest_test_faults attest_planted_plugin)

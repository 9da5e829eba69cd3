# A mutant of the chunked kernel: its state is dropped at the third chunk.
set(original "${PROJECT_SOURCE_DIR}/optimized/openmp/linear/causal.cpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
file(READ ${original} source)
set(walk "  run(in, out, engine::Order::chunked);")
set(
  dropped
  "  auto before = recurrence_of<T>(in, out), behind = before;
  const Index n = in.v.extent(0), cut = n < 2 * in.chunk ? n : 2 * in.chunk;
  before.S_after = {}, before.z_after = {};
  before.q = in.phi_q.rows(0, cut), behind.q = in.phi_q.rows(cut, n - cut);
  before.k = in.phi_k.rows(0, cut), behind.k = in.phi_k.rows(cut, n - cut);
  before.v = in.v.rows(0, cut), behind.v = in.v.rows(cut, n - cut);
  before.o = out.o.rows(0, cut), behind.o = out.o.rows(cut, n - cut);
  if (cut == n) return run(in, out, engine::Order::chunked);
  engine::causal(before, engine::Order::chunked, in.chunk);
  engine::causal(behind, engine::Order::chunked, in.chunk);"
)
string(REPLACE "${walk}" "${dropped}" mutated "${source}")
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
  $<TARGET_OBJECTS:attest_engines>
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

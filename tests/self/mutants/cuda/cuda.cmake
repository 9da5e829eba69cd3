# Mutants of the CUDA kernels: *.toml, each a test. mutants.py describes a mutant and judges it. All are in one plugin,
# whose sources schemata.py makes from those of attest_cuda_emulated, for the equations that have mutants.
set(here ${CMAKE_CURRENT_SOURCE_DIR}/mutants/cuda)
set(schemata ${CMAKE_CURRENT_BINARY_DIR}/mutants/cuda)
file(GLOB mutants CONFIGURE_DEPENDS ${here}/*.toml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${mutants} ${here}/schemata.py ${here}/mutants.py)
execute_process(
  COMMAND ${Python3_EXECUTABLE} -B ${here}/schemata.py
  OUTPUT_VARIABLE patched
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY
)
string(REGEX MATCH "^(.*)\n(.*)$" patched "${patched}")
set(patched ${CMAKE_MATCH_1})
set(equations ${CMAKE_MATCH_2})

get_target_property(sources attest_cuda_emulated SOURCES)
get_target_property(cuda attest_cuda_emulated SOURCE_DIR)
set(units)
foreach(source ${sources})
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${cuda} NORMALIZE)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${cuda} OUTPUT_VARIABLE name)
  string(REGEX REPLACE "\\.cu$" "" equation ${name})
  string(REPLACE "/" "." id ${equation})
  if(NOT name MATCHES "\\.cu$" OR (equation IN_LIST ATTEST_CUDA_EQUATIONS AND NOT id IN_LIST equations))
    continue()
  endif()
  if(name IN_LIST patched)
    set(source ${schemata}/${name})
  endif()
  list(APPEND units ${source})
endforeach()

list(TRANSFORM patched PREPEND ${cuda}/ OUTPUT_VARIABLE originals)
list(TRANSFORM patched PREPEND ${schemata}/)
set(made ${patched} ${schemata}/include/attest/cuda/mutants.hpp ${schemata}/table.cpp)
add_custom_command(
  OUTPUT ${schemata}/stamp
  BYPRODUCTS ${made}
  COMMAND ${Python3_EXECUTABLE} -B ${here}/schemata.py ${schemata}
  COMMAND ${CMAKE_COMMAND} -E touch ${schemata}/stamp
  DEPENDS ${mutants} ${originals} ${here}/schemata.py ${here}/mutants.py
  COMMENT "Adding all mutants to copies of the CUDA kernels"
)
add_custom_target(attest_cuda_schemata DEPENDS ${schemata}/stamp)
set_source_files_properties(${made} PROPERTIES GENERATED TRUE)

attest_cuda_plugin(attest_cuda_mutants "attest cuda, mutants" ${here}/plugin.cpp ${units} ${schemata}/table.cpp)
add_dependencies(attest_cuda_mutants attest_cuda_schemata)
attest_cuda_emulated(attest_cuda_mutants)
attest_setup(attest_cuda_mutants)
attest_join_units(attest_cuda_mutants)
target_include_directories(attest_cuda_mutants BEFORE PRIVATE ${schemata}/include)
target_compile_options(attest_cuda_mutants PRIVATE -O1 -w) # -w: a mutant may leave something unused
set_target_properties(attest_cuda_mutants PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/plugins)

set(turn 1)
attest_builds(cuda_mutants/build ${turn} attest_cuda_mutants)

# attest_cuda_mutant_test(name command...)
function(attest_cuda_mutant_test name)
  add_test(
    NAME cuda_mutants/${name}
    COMMAND ${rotating} ${turn} ${Python3_EXECUTABLE} ${ARGN}
    WORKING_DIRECTORY ${here}
  )
  set(
    environment
    ATTEST_CLI=$<TARGET_FILE:attest-cli>
    ATTEST_PROJECT_DIR=${PROJECT_SOURCE_DIR}
    ATTEST_BUILD_DIR=${PROJECT_BINARY_DIR}
    ATTEST_CUDA_MUTANTS_PLUGIN=$<TARGET_FILE:attest_cuda_mutants>
    PYTHONDONTWRITEBYTECODE=1
  )
  set_tests_properties(
    cuda_mutants/${name}
    PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}" FIXTURES_REQUIRED cuda_mutants/build
  )
endfunction()
attest_cuda_mutant_test(schemata test_mutants.py)
# The rows of the emulated plugin, too
set_tests_properties(cuda_mutants/schemata PROPERTIES FIXTURES_REQUIRED "cuda_mutants/build;reports")
foreach(mutant ${mutants})
  get_filename_component(stem ${mutant} NAME_WE)
  attest_cuda_mutant_test(${stem} mutants.py ${stem})
endforeach()

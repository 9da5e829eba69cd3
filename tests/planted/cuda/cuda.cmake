# Mistakes planted in the CUDA kernels: mutants/*.toml, each a test. plant.py says what a mutant is and how it is judged.
# attest_cuda_mutants(name command...)
function(attest_cuda_mutants name)
  add_test(NAME cuda_mutants/${name} COMMAND ${Python3_EXECUTABLE} ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/planted/cuda)
  set_tests_properties(cuda_mutants/${name} PROPERTIES TIMEOUT 600 ENVIRONMENT
    "ATTEST_CLI=$<TARGET_FILE:attest-cli>;ATTEST_PROJECT_DIR=${PROJECT_SOURCE_DIR};ATTEST_BUILD_DIR=${PROJECT_BINARY_DIR};ATTEST_CUDA_EMULATION=$<TARGET_FILE:attest_cuda_emulation> $<TARGET_FILE:Boost::context>;PYTHONDONTWRITEBYTECODE=1")
endfunction()
attest_cuda_mutants(planting test_plant.py)
file(GLOB mutants CONFIGURE_DEPENDS planted/cuda/mutants/*.toml)
foreach(mutant ${mutants})
  get_filename_component(stem ${mutant} NAME_WE)
  attest_cuda_mutants(${stem} plant.py ${stem})
endforeach()

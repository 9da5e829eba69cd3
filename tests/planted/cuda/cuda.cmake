# Mistakes planted in the CUDA kernels: mutants/*.toml, each a test. plant.py says what a mutant is and how it is judged.
set(cuda ${PROJECT_SOURCE_DIR}/optimized/cuda)
file(GLOB shared CONFIGURE_DEPENDS ${cuda}/*.cu)
# What mutants are planted in, and the control: the same plugin with nothing planted. -O1: what compiles most quickly.
attest_cuda_plugin(attest_planted_cuda "planted" ${cuda}/plugin.cpp planted/cuda/table.cpp ${shared}
  ${cuda}/attention/scaled_dot_product.cu ${cuda}/attention/scaled_dot_product_backward.cu ${cuda}/linear/causal.cu ${cuda}/linear/causal_backward.cu)
attest_cuda_emulated(attest_planted_cuda)
target_compile_options(attest_planted_cuda PRIVATE -O1)
set_target_properties(attest_planted_cuda PROPERTIES OUTPUT_NAME planted_cuda LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/plugins)
attest_setup(attest_planted_cuda)

# attest_cuda_mutants(name command...)
function(attest_cuda_mutants name)
  add_test(NAME cuda_mutants/${name} COMMAND ${Python3_EXECUTABLE} ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/planted/cuda)
  set_tests_properties(cuda_mutants/${name} PROPERTIES TIMEOUT 600 ENVIRONMENT
    "ATTEST_CLI=$<TARGET_FILE:attest-cli>;ATTEST_PROJECT_DIR=${PROJECT_SOURCE_DIR};ATTEST_BUILD_DIR=${PROJECT_BINARY_DIR};ATTEST_PLANTED_PLUGIN=$<TARGET_FILE:attest_planted_cuda>;ATTEST_CUDA_EMULATION=$<TARGET_FILE:attest_cuda_emulation> $<TARGET_FILE:Boost::context>;PYTHONDONTWRITEBYTECODE=1")
endfunction()
attest_cuda_mutants(planting test_plant.py)
attest_cuda_mutants(control plant.py control)
file(GLOB mutants CONFIGURE_DEPENDS planted/cuda/mutants/*.toml)
foreach(mutant ${mutants})
  get_filename_component(stem ${mutant} NAME_WE)
  attest_cuda_mutants(${stem} plant.py ${stem})
endforeach()

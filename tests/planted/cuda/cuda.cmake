# Mistakes planted in the CUDA kernels: mutants/*.toml, each a test. plant.py says what a mutant is and how it is judged.
set(cuda ${PROJECT_SOURCE_DIR}/optimized/cuda)
file(GLOB shared CONFIGURE_DEPENDS ${cuda}/*.cu)
# What mutants are planted in, and the control: the same plugin with nothing planted. -O1: what compiles most quickly.
add_library(attest_planted_cuda MODULE ${cuda}/plugin.cpp planted/cuda/table.cpp ${shared} ${cuda}/linear/causal.cu)
attest_cuda_emulated(attest_planted_cuda)
target_include_directories(attest_planted_cuda SYSTEM PRIVATE ${ATTEST_DLPACK_INCLUDE})
target_compile_definitions(attest_planted_cuda PRIVATE ATTEST_VERSION="0" ATTEST_PLUGIN_NAME="planted")
target_compile_options(attest_planted_cuda PRIVATE -O1)
target_link_libraries(attest_planted_cuda PRIVATE attest::contract)
set_target_properties(attest_planted_cuda PROPERTIES OUTPUT_NAME planted_cuda CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/plugins)
attest_setup(attest_planted_cuda)

function(attest_cuda_mutant name)
  add_test(NAME cuda_mutants/${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/planted/cuda/plant.py ${name})
  set_tests_properties(cuda_mutants/${name} PROPERTIES TIMEOUT 600 ENVIRONMENT
    "ATTEST_CLI=$<TARGET_FILE:attest-cli>;ATTEST_PROJECT_DIR=${PROJECT_SOURCE_DIR};ATTEST_BUILD_DIR=${PROJECT_BINARY_DIR};ATTEST_PLANTED_PLUGIN=$<TARGET_FILE:attest_planted_cuda>")
endfunction()
attest_cuda_mutant(control)
file(GLOB mutants CONFIGURE_DEPENDS planted/cuda/mutants/*.toml)
foreach(mutant ${mutants})
  get_filename_component(stem ${mutant} NAME_WE)
  attest_cuda_mutant(${stem})
endforeach()

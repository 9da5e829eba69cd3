# Tests of the CUDA emulation, and of the host side of kernels, without reference and judge: every *.cpp here but the
# *_sizes.cpp.
file(GLOB tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/emulation emulation/*.cpp)
set(sizes ${tests})
list(FILTER sizes INCLUDE REGEX "_sizes\\.cpp$")
list(REMOVE_ITEM tests ${sizes})
list(TRANSFORM tests REPLACE "\\.cpp$" "")
list(TRANSFORM sizes REPLACE "\\.cpp$" "")
foreach(stem ${tests})
  set(target attest_test_emulation_${stem})
  add_executable(${target} emulation/${stem}.cpp)
  if(stem STREQUAL "kernels")
    target_sources(${target} PRIVATE emulation/kernels.cu)
  elseif(stem MATCHES "^(devices|division)$") # what call.hpp includes, too
    target_include_directories(${target} SYSTEM PRIVATE ${ATTEST_DLPACK_INCLUDE})
    target_link_libraries(${target} PRIVATE attest::contract)
  elseif(stem STREQUAL "native_host")
    target_include_directories(${target} SYSTEM PRIVATE emulation/runtime) # its cuda_runtime.h
  endif()
  attest_cuda_emulated(${target})
  target_compile_definitions(${target} PRIVATE ATTEST_THIS_FILE="${CMAKE_CURRENT_SOURCE_DIR}/emulation/${stem}.cpp")
  target_link_libraries(${target} PRIVATE GTest::gtest GTest::gtest_main)
  attest_setup(${target})
  gtest_discover_tests(${target} TEST_PREFIX "emulation/${stem}/" DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
endforeach()

# *_sizes.cpp: kernels of the emulated plugin, loaded as a candidate, at sizes for which certified values take too long.
foreach(stem ${sizes})
  set(target attest_test_emulation_${stem})
  add_executable(${target} emulation/${stem}.cpp)
  target_compile_definitions(${target} PRIVATE ATTEST_CUDA_EMULATED="$<TARGET_FILE:attest_cuda_emulated>")
  target_include_directories(${target} SYSTEM PRIVATE ${ATTEST_DLPACK_INCLUDE})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tools/judge/source) # cuda_driver.hpp
  target_link_libraries(${target} PRIVATE attest::contract GTest::gtest GTest::gtest_main ${CMAKE_DL_LIBS})
  add_dependencies(${target} attest_cuda_emulated)
  attest_setup(${target})
  gtest_discover_tests(${target} TEST_PREFIX "emulation/${stem}/" DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
endforeach()

# What compares a GPU's tensor cores with the emulation: here with itself.
add_executable(attest_test_emulation_tensor_core_sums emulation/tensor_core_sums.cu)
attest_cuda_emulated(attest_test_emulation_tensor_core_sums)
attest_setup(attest_test_emulation_tensor_core_sums)
add_test(NAME emulation/tensor_core_sums COMMAND attest_test_emulation_tensor_core_sums 30)

# States of sequences for which these devices have no shared memory.
foreach(capability 86 89)
  add_test(
    NAME emulation/linear_sizes/capability_${capability}
    COMMAND
      attest_test_emulation_linear_sizes
      --gtest_filter=*/Sizes.LengthsBeyondATileWithWidthsBeyondATile/*chunked*:*/Sizes.WithoutAState/*chunked*
  )
  set_tests_properties(
    emulation/linear_sizes/capability_${capability}
    PROPERTIES TIMEOUT 600 ENVIRONMENT ATTEST_CUDA_EMULATED_CAPABILITY=${capability}
  )
endforeach()

# kernels.cu by nvcc, which needs no GPU: skipped, and counted as skipped, where there is no nvcc.
foreach(architecture sm_80 sm_90 sm_90a)
  add_test(
    NAME emulation/nvcc/${architecture}
    COMMAND
      ${CMAKE_CURRENT_SOURCE_DIR}/emulation/nvcc.sh ${architecture} ${PROJECT_SOURCE_DIR}
      ${CMAKE_CURRENT_BINARY_DIR}/kernels_${architecture}.o
  )
  set_tests_properties(emulation/nvcc/${architecture} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endforeach()

# The machine code of kernels with tensor instructions: nothing of machine_code.json may grow.
if(TARGET attest_cuda_machine_code)
  attest_builds(emulation/machine_code/build 2 attest_cuda_machine_code)
  add_test(
    NAME emulation/machine_code
    COMMAND
      ${rotating} 2 ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/bench/cuda_sass.py
      $<TARGET_OBJECTS:attest_cuda_machine_code> --kept ${CMAKE_CURRENT_SOURCE_DIR}/emulation/machine_code.json
    COMMAND_EXPAND_LISTS
  )
  set_tests_properties(
    emulation/machine_code
    PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 FIXTURES_REQUIRED emulation/machine_code/build
  )
endif()

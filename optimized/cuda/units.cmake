# Kernels that take a compiler long are sources of their own for every format. Each `#define ATTEST_CUDA_UNIT_NAME(T, Factor)` of
# include/attest/cuda/units/*.hpp is what a source holds, and there is one for every pair of ATTEST_CUDA_FORMATS; `(T)` makes one for
# every type that tensors are stored in, `()` one alone. The result is in ATTEST_CUDA_UNITS.
set(list ${CMAKE_CURRENT_SOURCE_DIR}/include/attest/cuda/call.hpp)
file(READ ${list} text)
string(REGEX MATCHALL "\n  instantiate\\([^)]*\\)" formats "${text}")
list(TRANSFORM formats REPLACE ".*\\((.*)\\)" "\\1")
list(TRANSFORM formats REPLACE ",.*" "" OUTPUT_VARIABLE types)
list(REMOVE_DUPLICATES types)
file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include include/attest/cuda/units/*.hpp)
set(ATTEST_CUDA_UNITS)
foreach(header ${headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list} ${CMAKE_CURRENT_SOURCE_DIR}/include/${header})
  get_filename_component(stem ${header} NAME_WE)
  file(READ include/${header} text)
  string(REGEX MATCHALL "\n#define ATTEST_CUDA_UNIT_[A-Za-z_]+\\([^)]*\\)" units "${text}")
  if(NOT units)
    message(
      FATAL_ERROR
      "optimized/cuda/include/${header} says nothing that is to be compiled: there is no #define ATTEST_CUDA_UNIT_NAME(...)"
    )
  endif()
  foreach(unit ${units})
    string(REGEX MATCH "ATTEST_CUDA_UNIT_([A-Za-z_]+)\\((.*)\\)" found "${unit}")
    set(name ${CMAKE_MATCH_1})
    if(CMAKE_MATCH_2 STREQUAL "T, Factor")
      set(arguments ${formats})
    elseif(CMAKE_MATCH_2 STREQUAL "T")
      set(arguments ${types})
    elseif(CMAKE_MATCH_2 STREQUAL "")
      set(arguments " ")
    else()
      message(
        FATAL_ERROR
        "optimized/cuda/include/${header}: ATTEST_CUDA_UNIT_${name} takes (${CMAKE_MATCH_2}); it may take (T, Factor), (T) or ()"
      )
    endif()
    foreach(argument IN LISTS arguments)
      string(REGEX REPLACE "[^A-Za-z0-9]+" "_" file "${stem} ${name} ${argument}")
      string(REGEX REPLACE "_$" "" file ${file})
      set(file ${PROJECT_BINARY_DIR}/generated/cuda/${file}.cu)
      file(
        CONFIGURE
        OUTPUT ${file}
        @ONLY
        CONTENT
          "// Generated.\n#include \"${header}\"\n\nnamespace attest::cuda {\nATTEST_CUDA_UNIT_${name}(${argument})\n}  // namespace attest::cuda\n"
      )
      list(APPEND ATTEST_CUDA_UNITS ${file})
    endforeach()
  endforeach()
endforeach()

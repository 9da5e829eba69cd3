# Kernels that compile slowly get one translation unit for each format. `#define ATTEST_CUDA_UNIT_NAME(...)` in
# include/attest/cuda/units/*.hpp holds the instantiations of a unit: with (T, Factor) there is one unit for each pair
# of ATTEST_CUDA_FORMATS (call.hpp), with (T) one for each storage type, with () a single one. ATTEST_CUDA_UNITS lists
# them.
set(list ${CMAKE_CURRENT_SOURCE_DIR}/include/attest/cuda/call.hpp)
file(READ ${list} text)
# The macro's body: all lines up to the first that no backslash continues, however the formatter breaks them.
string(REGEX MATCH "#define ATTEST_CUDA_FORMATS\\(instantiate\\)([^\n]*\\\\\n)*[^\n]*" body "${text}")
string(REGEX MATCHALL "instantiate\\([^()]+,[^()]+\\)" formats "${body}")
if(NOT formats)
  message(FATAL_ERROR "${list}: no format is in ATTEST_CUDA_FORMATS")
endif()
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
    message(FATAL_ERROR "optimized/cuda/include/${header}: no #define ATTEST_CUDA_UNIT_NAME(...) says what to compile")
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
        "optimized/cuda/include/${header}: ATTEST_CUDA_UNIT_${name} takes (${CMAKE_MATCH_2}); "
        "it may take (T, Factor), (T) or ()"
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
          "// Generated.
#include \"${header}\"

namespace attest::cuda {
ATTEST_CUDA_UNIT_${name}(${argument})
}  // namespace attest::cuda
"
      )
      list(APPEND ATTEST_CUDA_UNITS ${file})
    endforeach()
  endforeach()
endforeach()

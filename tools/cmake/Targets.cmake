# Options of every target of the project: C++20, warnings, no contraction of a*b+c, no fast-math anywhere.
function(attest_setup target)
  target_compile_options(
    ${target}
    PRIVATE -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off
  )
  if(ATTEST_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE -Wno-unused-lambda-capture)
  endif()
endfunction()

# What is declared and defined nowhere is an error of the linker, not of who loads a plugin. A sanitizer's runtime is in
# the program that loads it.
set(ATTEST_ALL_DEFINED -Wl,-z,defs)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(ATTEST_ALL_DEFINED)
endif()

# GCC 12 warns without reason of the bounds of copies inside std::string, and in a precompiled header it does not know
# any more that the place is the library's.
set(false_warnings -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
set(ATTEST_NO_FALSE_WARNINGS "$<$<CXX_COMPILER_ID:GNU>:${false_warnings}>")

# attest_join_units(target [number]): compiles that many of its sources at a time, eight if not said, in the order of
# their list. Units of equations are small beside the headers that each reads: together they take half the time or less.
# Whoever works on one may compile each alone: cmake --preset ci -DATTEST_JOIN_UNITS=OFF
set(ATTEST_JOIN_UNITS ON CACHE BOOL "Compile several of the equations' units at a time")
set(joined_units 8)
function(attest_join_units target)
  set(number ${joined_units})
  if(ARGC GREATER 1)
    set(number ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ATTEST_JOIN_UNITS} UNITY_BUILD_BATCH_SIZE ${number})
endfunction()

# attest_library(name SOURCES ... LINK ... INCLUDE dir): a static room with its own include root.
function(attest_library name)
  cmake_parse_arguments(ARG "" "INCLUDE" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(attest_${name} STATIC ${ARG_SOURCES})
  add_library(attest::${name} ALIAS attest_${name})
  set_target_properties(attest_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(attest_${name} PUBLIC ${ARG_INCLUDE})
  target_link_libraries(attest_${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  attest_setup(attest_${name})
endfunction()

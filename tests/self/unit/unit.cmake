# -O1 and precompiled headers: unit/probe.cpp compiles in 12.6 s instead of 19.0 s.
set(unit_options $<$<CONFIG:Release>:-O1> ${ATTEST_NO_FALSE_WARNINGS})
add_library(attest_unit_main OBJECT unit_main.cpp)
target_link_libraries(attest_unit_main PRIVATE attest::judge attest::report GTest::gtest rapidcheck)
target_precompile_headers(attest_unit_main PRIVATE <gtest/gtest.h> <rapidcheck.h>)
attest_setup(attest_unit_main)
target_compile_options(attest_unit_main PRIVATE ${unit_options})

# attest_unit(target stem [source...]): the program of unit/<stem>.cpp, with other sources in front of the libraries.
function(attest_unit target stem)
  set(
    libraries
    attest::judge
    attest::report
    GTest::gtest
    rapidcheck
    tomlplusplus::tomlplusplus
    nlohmann_json::nlohmann_json
  )
  if(NOT TARGET attest_unit_${stem})
    add_library(attest_unit_${stem} OBJECT unit/${stem}.cpp)
    target_link_libraries(attest_unit_${stem} PRIVATE ${libraries})
    target_compile_definitions(
      attest_unit_${stem}
      PRIVATE ATTEST_PROJECT_DIR="${PROJECT_SOURCE_DIR}" ATTEST_TEST_PLUGIN_DIR="${CMAKE_CURRENT_BINARY_DIR}/plugins"
    )
    target_precompile_headers(attest_unit_${stem} REUSE_FROM attest_unit_main)
    attest_setup(attest_unit_${stem})
    target_compile_options(attest_unit_${stem} PRIVATE ${unit_options})
  endif()
  add_executable(${target} $<TARGET_OBJECTS:attest_unit_${stem}> $<TARGET_OBJECTS:attest_unit_main> ${ARGN})
  target_link_libraries(${target} PRIVATE ${libraries})
endfunction()
file(GLOB units CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/unit unit/*.cpp)
foreach(file ${units})
  string(REGEX REPLACE "\\.cpp$" "" stem ${file})
  attest_unit(attest_test_${stem} ${stem})
  gtest_discover_tests(attest_test_${stem} TEST_PREFIX "${stem}/" DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
endforeach()
target_include_directories(attest_unit_sine_cosine PRIVATE ${PROJECT_SOURCE_DIR}/optimized/openmp/include)

# Small wrong plugins in plain C.
file(GLOB plugins CONFIGURE_DEPENDS unit/plugins/*.c)
foreach(plugin ${plugins})
  get_filename_component(stem ${plugin} NAME_WE)
  add_library(attest_plugin_${stem} MODULE ${plugin})
  set_target_properties(
    attest_plugin_${stem}
    PROPERTIES OUTPUT_NAME ${stem} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/plugins
  )
  target_include_directories(
    attest_plugin_${stem}
    PRIVATE ${PROJECT_SOURCE_DIR}/specs/include
    SYSTEM
    ${ATTEST_DLPACK_INCLUDE}
  )
  target_link_libraries(attest_plugin_${stem} PRIVATE Threads::Threads m)
  add_dependencies(attest_test_process attest_plugin_${stem})
  add_dependencies(attest_test_check attest_plugin_${stem})
  add_dependencies(attest_test_again attest_plugin_${stem})
endforeach()
target_compile_definitions(attest_unit_choice PRIVATE ATTEST_OPENMP_PLUGIN="$<TARGET_FILE:attest_openmp>")
add_dependencies(attest_test_choice attest_openmp)

# Solvers of another library, which take long to optimize; a property that is tried on kernels of the test.
target_link_libraries(attest_unit_solve PRIVATE Eigen3::Eigen)
target_compile_options(attest_unit_solve PRIVATE -O0)
set_source_files_properties(unit/solve.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON) # which are for -O1
target_include_directories(attest_unit_infty_updates PRIVATE ${PROJECT_SOURCE_DIR}/tests)

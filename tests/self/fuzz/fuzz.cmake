# Fuzz targets: a program for each fuzz/NAME.cpp, with inputs in fuzz/seeds/NAME and words in fuzz/NAME.dict, linked
# with a main() that runs the inputs and mutants of them. Some of what they read by is private to the judge.
file(GLOB targets CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/fuzz fuzz/*.cpp)
list(TRANSFORM targets REPLACE "\\.cpp$" "")
set(roots ${CMAKE_CURRENT_SOURCE_DIR}/fuzz ${PROJECT_SOURCE_DIR}/tools ${PROJECT_SOURCE_DIR}/tools/judge/source)
set(readers ${PROJECT_SOURCE_DIR}/tools/cli/written.cpp)

add_library(attest_fuzz_main OBJECT fuzz_main.cpp ${readers})
target_include_directories(attest_fuzz_main PRIVATE ${roots})
target_link_libraries(attest_fuzz_main PRIVATE attest::judge nlohmann_json::nlohmann_json)
attest_setup(attest_fuzz_main)
foreach(target ${targets})
  add_executable(attest_fuzz_${target} fuzz/${target}.cpp $<TARGET_OBJECTS:attest_fuzz_main>)
  target_include_directories(attest_fuzz_${target} PRIVATE ${roots})
  target_include_directories(attest_fuzz_${target} SYSTEM PRIVATE ${ATTEST_DLPACK_INCLUDE})
  target_link_libraries(attest_fuzz_${target} PRIVATE attest::judge nlohmann_json::nlohmann_json)
  target_compile_options(attest_fuzz_${target} PRIVATE ${unit_options})
  attest_setup(attest_fuzz_${target})
  add_test(
    NAME fuzz/${target}
    COMMAND
      ${sweep} --small $<TARGET_FILE:attest_fuzz_${target}> ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/seeds/${target}
      ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${target}.dict --mutants 90000
  )
  set_tests_properties(fuzz/${target} PROPERTIES TIMEOUT 300)
endforeach()

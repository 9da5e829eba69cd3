# Fuzz targets: a program for each fuzz/NAME.cpp, with inputs in fuzz/seeds/NAME and words in fuzz/NAME.dict. Without
# ATTEST_FUZZ each is a test, linked with a main() that runs the inputs and mutants of them; with it libFuzzer runs it,
# which tools/fuzz does. Some of what they read by is private to the judge.
file(GLOB targets CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/fuzz fuzz/*.cpp)
list(TRANSFORM targets REPLACE "\\.cpp$" "")
set(roots ${CMAKE_CURRENT_SOURCE_DIR}/fuzz ${PROJECT_SOURCE_DIR}/tools ${PROJECT_SOURCE_DIR}/tools/judge/source)
set(readers ${PROJECT_SOURCE_DIR}/tools/cli/written.cpp)

if(ATTEST_FUZZ)
  # What the targets need of the libraries, without the equations, which are the greater part of a build. What lacks
  # here is an undefined reference.
  set(golden ${PROJECT_SOURCE_DIR}/golden)
  set(judge ${PROJECT_SOURCE_DIR}/tools/judge)
  set(jobs ${PROJECT_SOURCE_DIR}/tools/jobs)
  set(
    sources
    ${golden}/source/agreement.cpp
    ${golden}/source/case.cpp
    ${golden}/source/draw.cpp
    ${golden}/source/files.cpp
    ${golden}/source/manifest.cpp
    ${golden}/source/npy.cpp
    ${golden}/source/out_of_memory.cpp
    ${golden}/source/profile.cpp
    ${golden}/source/safetensors.cpp
    ${judge}/source/candidate.cpp
    ${judge}/source/capabilities.cpp
    ${judge}/source/child.cpp
    ${judge}/source/deadline.cpp
    ${judge}/source/death.cpp
    ${judge}/source/element.cpp
    ${judge}/source/endpoint.cpp
    ${judge}/source/glob.cpp
    ${judge}/source/job.cpp
    ${judge}/source/kernel.cpp
    ${judge}/source/layout.cpp
    ${judge}/source/memory.cpp
    ${judge}/source/messages.cpp
    ${judge}/source/parts.cpp
    ${judge}/source/process.cpp
    ${judge}/source/protocol.cpp
    ${judge}/source/regions.cpp
    ${judge}/source/report.cpp
    ${judge}/source/shared_memory.cpp
    ${judge}/source/situation.cpp
    ${judge}/source/spawn.cpp
    ${judge}/source/team.cpp
    ${judge}/source/waivers.cpp
    ${judge}/source/worker_process.cpp
    ${judge}/source/worker_table.cpp
    ${jobs}/source/channel.cpp
  )
  add_library(attest_readers STATIC EXCLUDE_FROM_ALL ${sources} ${readers})
  attest_setup(attest_readers)
  target_include_directories(
    attest_readers
    PUBLIC ${golden}/include ${judge}/include ${jobs}/include ${PROJECT_SOURCE_DIR}/reference/include ${roots}
  )
  target_include_directories(attest_readers SYSTEM PUBLIC ${ATTEST_DLPACK_INCLUDE})
  target_compile_definitions(attest_readers PRIVATE ATTEST_PLUGIN_DIR="")
  target_link_libraries(
    attest_readers
    PUBLIC attest::specs nlohmann_json::nlohmann_json
    PRIVATE tomlplusplus::tomlplusplus OpenSSL::Crypto Boost::boost attest_flint attest_gmp
  )
  foreach(target ${targets})
    add_executable(attest_fuzz_${target} EXCLUDE_FROM_ALL fuzz/${target}.cpp)
    target_link_libraries(attest_fuzz_${target} PRIVATE attest_readers)
    target_link_options(attest_fuzz_${target} PRIVATE -fsanitize=fuzzer)
    attest_setup(attest_fuzz_${target})
  endforeach()
  return()
endif()

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
# libFuzzer, under the address and undefined-behaviour sanitizers: one part in nine, for what its build takes.
add_test(
  NAME fuzz/sanitized
  COMMAND ${rotating} --small 5 ${PROJECT_SOURCE_DIR}/tools/fuzz --runs 10000
)
set_tests_properties(
  fuzz/sanitized
  PROPERTIES TIMEOUT 2400 SKIP_RETURN_CODE 77 COST ${cost_awaited}
)

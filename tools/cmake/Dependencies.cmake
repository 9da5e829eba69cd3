# Everything comes from the system's packages (tools/packages.txt); nothing is downloaded.
execute_process(
  COMMAND ${PROJECT_SOURCE_DIR}/tools/setup --missing
  OUTPUT_VARIABLE missing
  OUTPUT_STRIP_TRAILING_WHITESPACE
)
if(missing)
  message(
    NOTICE
    "attest: of Debian's packages these are not installed: ${missing}\n"
    "What a build needs of them is named below; `tools/setup` installs all, `apt-get install` each."
  )
endif()
find_package(Boost 1.81 REQUIRED COMPONENTS context)
find_package(tomlplusplus REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(rapidcheck REQUIRED)
find_package(Threads REQUIRED)
if(ATTEST_MPI STREQUAL "ON")
  find_package(MPI REQUIRED COMPONENTS CXX)
elseif(ATTEST_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS CXX)
elseif(NOT ATTEST_MPI STREQUAL "OFF")
  message(FATAL_ERROR "ATTEST_MPI is '${ATTEST_MPI}'; allowed: AUTO, ON, OFF")
endif()

function(attest_find_library target header)
  find_path(${target}_INCLUDE NAMES ${header} REQUIRED)
  find_library(${target}_LIBRARY NAMES ${ARGN} REQUIRED)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE})
  target_link_libraries(${target} INTERFACE ${${target}_LIBRARY})
endfunction()
attest_find_library(attest_gmp gmp.h gmp)
attest_find_library(attest_mpfr mpfr.h mpfr)
attest_find_library(attest_flint flint/flint.h flint)
# Arb: a library of its own on Debian 12 (libflint-arb), part of FLINT from FLINT 3 on.
find_path(ATTEST_ARB_IN_FLINT NAMES flint/arb.h)
if(ATTEST_ARB_IN_FLINT)
  add_library(attest_arb ALIAS attest_flint)
else()
  attest_find_library(attest_arb arb.h flint-arb arb)
endif()
find_path(ATTEST_HIGHWAY_INCLUDE NAMES hwy/foreach_target.h REQUIRED)
find_path(ATTEST_DLPACK_INCLUDE NAMES dlpack/dlpack.h REQUIRED)

# The files that `cmake --install` puts under a prefix. The headers are installed by specs/.
#   bin/attest                            the command (a Python wheel holds the same tree as its package's folder)
#   lib/attest/libattest_*.so             the candidates that have a name, as `openmp`, where they were built
#   share/attest/golden/                  golden vectors, their manifests, the flags
#   share/attest/specs/report.schema.json the JSON Schema of reports
#   share/attest/tools/bench/             the program of `attest bench`
#   share/attest/{specs,reference,...}    the sources that the manifest's hashes are of, for `attest golden verify`
#   lib/cmake/attest/                     find_package(attest)
#   lib/pkgconfig/attest.pc               pkg-config attest
include(CMakePackageConfigHelpers)

add_library(attest_kernel INTERFACE)
add_library(attest::kernel ALIAS attest_kernel)
set_target_properties(attest_kernel PROPERTIES EXPORT_NAME kernel)
target_include_directories(
  attest_kernel
  INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/specs/include>
    $<BUILD_INTERFACE:${ATTEST_DLPACK_INCLUDE}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
)
install(TARGETS attest_kernel EXPORT attestTargets)

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/attest)
install(EXPORT attestTargets NAMESPACE attest:: DESTINATION ${config})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/tools/cmake/attestConfig.cmake.in
  ${PROJECT_BINARY_DIR}/attestConfig.cmake
  INSTALL_DESTINATION ${config}
  PATH_VARS CMAKE_INSTALL_BINDIR
)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attestConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES
    ${PROJECT_BINARY_DIR}/attestConfig.cmake
    ${PROJECT_BINARY_DIR}/attestConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/tools/cmake/attestConformance.cmake
  DESTINATION ${config}
)
set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH attest_prefix ${CMAKE_INSTALL_PREFIX}/${pkgconfig} ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/attest.pc.in ${PROJECT_BINARY_DIR}/attest.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/attest.pc DESTINATION ${pkgconfig})

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/attest)
install(FILES ${PROJECT_SOURCE_DIR}/specs/report.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/attest/specs)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/golden/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/attest/golden
  FILES_MATCHING
  PATTERN "*.safetensors"
  PATTERN "*.manifest.toml"
  PATTERN "flags.toml"
  PATTERN include EXCLUDE
  PATTERN source EXCLUDE
  PATTERN plugin EXCLUDE
)
# The sources that the manifests hold hashes of.
file(
  GLOB rooms
  LIST_DIRECTORIES true
  RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/specs/*
  ${PROJECT_SOURCE_DIR}/reference/*
  ${PROJECT_SOURCE_DIR}/golden/*
)
list(FILTER rooms INCLUDE REGEX "/(include|source)$")
foreach(sources ${rooms})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${sources}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/attest/${sources})
endforeach()
install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/bench/kernels.py DESTINATION ${CMAKE_INSTALL_DATADIR}/attest/tools/bench)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/tools/bench/attest_bench
  DESTINATION ${CMAKE_INSTALL_DATADIR}/attest/tools/bench
  FILES_MATCHING
  PATTERN "*.py"
  PATTERN __pycache__ EXCLUDE
)

# A library that is put beside the plugins is found there by the plugins, the command, and what they need in turn. That
# takes DT_RPATH: DT_RUNPATH is not inherited.
get_target_property(plugins plugins MANUALLY_ADDED_DEPENDENCIES)
foreach(plugin ${plugins})
  # What uses MPI goes with the MPI of a machine, and not into what runs on any.
  set(component "Unspecified")
  if(plugin STREQUAL "attest_mpi")
    set(component "mpi")
  endif()
  install(
    TARGETS ${plugin}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/attest COMPONENT ${component} OPTIONAL # those that were built
  )
endforeach()
if(TARGET attest_ranks)
  install(TARGETS attest_ranks LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/attest COMPONENT mpi OPTIONAL)
endif()
function(attest_find_libraries_in folder)
  foreach(target ${ARGN})
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
    set_target_properties(
      ${target}
      PROPERTIES INSTALL_RPATH "${folder}" INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON
    )
  endforeach()
endfunction()
attest_find_libraries_in("$ORIGIN" ${plugins})

if(TARGET attest-cli)
  # The installed command finds its data from where it stands, so that the prefix can be moved.
  file(RELATIVE_PATH data ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/attest)
  file(RELATIVE_PATH plugins ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/attest)
  target_compile_definitions(
    attest-cli
    PRIVATE ATTEST_INSTALLED_PROJECT="${data}" ATTEST_INSTALLED_PLUGINS="${plugins}"
  )
  attest_find_libraries_in("$ORIGIN/${plugins}" attest-cli)
  install(PROGRAMS $<TARGET_FILE:attest-cli> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME attest)
endif()

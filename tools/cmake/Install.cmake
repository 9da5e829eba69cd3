# What `cmake --install` puts under a prefix. The headers are installed by specs/.
#   bin/attest                            the command (a Python wheel holds the same tree as its package's folder)
#   lib/attest/libattest_*.so             the candidates `openmp` and `reference`
#   share/attest/golden/                  golden vectors, their manifests, the flags
#   share/attest/{specs,reference,...}    the sources that the manifest's hashes are of, for `attest golden verify`
#   lib/cmake/attest/                     find_package(attest)
include(CMakePackageConfigHelpers)

add_library(attest_kernel INTERFACE)
add_library(attest::kernel ALIAS attest_kernel)
set_target_properties(attest_kernel PROPERTIES EXPORT_NAME kernel)
target_include_directories(attest_kernel INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/specs/include> $<BUILD_INTERFACE:${ATTEST_DLPACK_INCLUDE}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS attest_kernel EXPORT attestTargets)

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/attest)
install(EXPORT attestTargets NAMESPACE attest:: DESTINATION ${config})
configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/attestConfig.cmake.in ${PROJECT_BINARY_DIR}/attestConfig.cmake
  INSTALL_DESTINATION ${config} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attestConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attestConfig.cmake ${PROJECT_BINARY_DIR}/attestConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/tools/cmake/attestConformance.cmake DESTINATION ${config})

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/attest)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/golden/ DESTINATION ${CMAKE_INSTALL_DATADIR}/attest/golden
  FILES_MATCHING PATTERN "*.safetensors" PATTERN "*.manifest.toml" PATTERN "flags.toml"
  PATTERN include EXCLUDE PATTERN source EXCLUDE PATTERN plugin EXCLUDE)
foreach(sources specs/include reference/include golden/include golden/source)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${sources}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/attest/${sources})
endforeach()
install(TARGETS attest_openmp attest_reference_plugin attest_planted_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/attest)

if(TARGET attest-cli)
  # The installed command finds its data from where it stands, so that the prefix can be moved.
  file(RELATIVE_PATH data ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/attest)
  file(RELATIVE_PATH plugins ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/attest)
  target_compile_definitions(attest-cli PRIVATE ATTEST_INSTALLED_PROJECT="${data}" ATTEST_INSTALLED_PLUGINS="${plugins}")
  install(PROGRAMS $<TARGET_FILE:attest-cli> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME attest)
endif()

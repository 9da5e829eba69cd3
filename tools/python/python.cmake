# The Python package: build/<preset>/python/attest, which is what a wheel installs. Built where Python's headers and
# nanobind are.
find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
if(Python_Development.Module_FOUND)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET
  )
  find_package(nanobind CONFIG QUIET)
endif()
if(NOT nanobind_FOUND AND ATTEST_PYTHON)
  message(
    FATAL_ERROR
    "the Python package needs Python's headers and nanobind: apt-get install python3-dev, pip install nanobind"
  )
elseif(NOT nanobind_FOUND)
  message(
    STATUS
    "attest: no Python package (it needs Python's headers and nanobind: python3-dev, pip install nanobind)"
  )
  return()
endif()

set(package ${PROJECT_BINARY_DIR}/python/attest)
nanobind_add_module(attest_python STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS python/native.cpp python/arc4random.c)
set_target_properties(attest_python PROPERTIES OUTPUT_NAME native LIBRARY_OUTPUT_DIRECTORY ${package})
target_compile_definitions(attest_python PRIVATE ATTEST_VERSION="${PROJECT_VERSION}")
target_link_libraries(attest_python PRIVATE attest::jobs attest::report)
# The module shows its init function alone and brings its own C++ library: librapidcheck.a is position-independent for
# programs only, so that nothing it uses may come from another library.
target_link_options(
  attest_python
  PRIVATE -static-libstdc++ -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/python/native.map
)
set_target_properties(attest_python PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/python/native.map)
attest_setup(attest_python)
# In the build tree the package is links to the sources, and finds command and data in an install tree's places.
file(
  GLOB_RECURSE modules
  CONFIGURE_DEPENDS
  RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/python/attest
  python/attest/*.py
  python/attest/py.typed
)
foreach(module ${modules})
  get_filename_component(folder ${module} DIRECTORY)
  file(MAKE_DIRECTORY ${package}/${folder})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/python/attest/${module} ${package}/${module} SYMBOLIC)
endforeach()
file(MAKE_DIRECTORY ${package}/share/attest ${package}/bin)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/golden ${package}/share/attest/golden SYMBOLIC)
file(CREATE_LINK ${PROJECT_BINARY_DIR}/tools/attest-cli ${package}/bin/attest SYMBOLIC)

install(TARGETS attest_python LIBRARY DESTINATION . COMPONENT python EXCLUDE_FROM_ALL)

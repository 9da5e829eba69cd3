# The Python package as the build has it. Tests of a library that is not installed are skipped, and ctest counts them.
if(NOT TARGET attest_python)
  return()
endif()

function(attest_python_environment name)
  set(
    environment
    PYTHONPATH=${PROJECT_BINARY_DIR}/python
    ATTEST_CLI=$<TARGET_FILE:attest-cli>
    ATTEST_BUILD_DIR=${PROJECT_BINARY_DIR}
    PYTHONDONTWRITEBYTECODE=1
  )
  set_tests_properties(
    python/${name}
    PROPERTIES TIMEOUT 1800 SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}" COST ${cost_of_a_script}
  )
endfunction()
# attest_python_test(name [IN_TURN turn] argument...)
function(attest_python_test name)
  cmake_parse_arguments(ARG "" "IN_TURN" "" ${ARGN})
  set(in_turn)
  if(ARG_IN_TURN)
    set(in_turn ${rotating} ${ARG_IN_TURN})
  endif()
  add_test(
    NAME python/${name}
    COMMAND ${in_turn} ${Python3_EXECUTABLE} ${ARG_UNPARSED_ARGUMENTS}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/python
  )
  attest_python_environment(${name})
endfunction()
set(
  pytest
  -m
  pytest
  -q
  -rs
  -p
  no:cacheprovider
)
file(GLOB scripts CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/python python/test_*.py)
list(REMOVE_ITEM scripts test_frameworks.py)
foreach(script ${scripts})
  get_filename_component(stem ${script} NAME_WE)
  attest_python_test(${stem} ${pytest} ${script})
endforeach()
# Pages as other processors print them. Nehalem stands for the oldest: NumPy and the C library do without
# AVX, too. One of them in each part.
set(turn 0)
foreach(core Nehalem Haswell SkylakeX)
  math(EXPR turn "${turn} + 1")
  add_test(
    NAME python/test_readme/${core}
    COMMAND ${rotating} ${turn} ${Python3_EXECUTABLE} ${pytest} test_readme.py -k prints
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/python
  )
  attest_python_environment(test_readme/${core})
  set_property(TEST python/test_readme/${core} APPEND PROPERTY ENVIRONMENT OPENBLAS_CORETYPE=${core})
endforeach()
set_property(
  TEST python/test_readme/Nehalem
  APPEND
  PROPERTY
    ENVIRONMENT
      "NPY_DISABLE_CPU_FEATURES=X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
      GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA
)
set(turn 0)
foreach(library jax torch)
  math(EXPR turn "${turn} + 1")
  attest_python_test(test_frameworks/${library} IN_TURN ${turn} ${pytest} test_frameworks.py)
  set_property(TEST python/test_frameworks/${library} APPEND PROPERTY ENVIRONMENT "ATTEST_LIBRARY=${library}")
endforeach()
file(
  GLOB libraries
  CONFIGURE_DEPENDS
  RELATIVE ${PROJECT_SOURCE_DIR}/tools/python/attest/adapters
  ${PROJECT_SOURCE_DIR}/tools/python/attest/adapters/*.py
)
list(REMOVE_ITEM libraries __init__.py)
# A third of them in each part
set(turn 0)
foreach(library ${libraries})
  math(EXPR turn "${turn} % 3 + 1")
  get_filename_component(stem ${library} NAME_WE)
  attest_python_test(adapters/${stem} IN_TURN ${turn} adapters.py ${stem})
endforeach()

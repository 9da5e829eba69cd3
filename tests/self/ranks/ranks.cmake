# Kernels of several ranks: our own, and a stranger's plugin with its faults. As many ranks as it takes, on any cores.
if(TARGET attest_mpi)
  find_program(ATTEST_MPICC mpicc REQUIRED)
  file(GLOB scripts CONFIGURE_DEPENDS ranks/test_*.py)
  foreach(script ${scripts})
    get_filename_component(stem ${script} NAME_WE)
    attest_in_turn(in_turn ${script})
    add_test(NAME ranks/${stem} COMMAND ${in_turn} ${Python3_EXECUTABLE} ${script} -v)
    set_tests_properties(
      ranks/${stem}
      PROPERTIES
        TIMEOUT 900
        SKIP_RETURN_CODE 77
        PROCESSORS 2
        ENVIRONMENT
          "${environment};CC=${ATTEST_MPICC};OMPI_CC=${CMAKE_C_COMPILER};PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}/cli"
    )
  endforeach()
endif()

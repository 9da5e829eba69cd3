# Several MPI ranks: our own kernels, a stranger's plugin with its faults, long jobs. As many ranks as it takes, on any
# cores.
if(TARGET attest_mpi)
  find_program(ATTEST_MPICC mpicc REQUIRED)
  set(
    environment_of_ranks
    ${environment}
    CC=${ATTEST_MPICC}
    OMPI_CC=${CMAKE_C_COMPILER}
    PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}/cli
  )
  attest_scripts(ranks environment_of_ranks TIMEOUT 900)
endif()

# specs/ is the only list of equations: every other room is derived from it and checked against it.
file(GLOB ATTEST_SPECS CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/specs ${PROJECT_SOURCE_DIR}/specs/*/*.toml)
list(TRANSFORM ATTEST_SPECS REPLACE "\\.toml$" "" OUTPUT_VARIABLE ATTEST_EQUATIONS)

# attest_partners(ROOM suffix EQUATIONS...): each equation has its file in the room, and each file its equation.
function(attest_partners room suffix)
  foreach(equation ${ARGN})
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${room}/${equation}${suffix})
      message(SEND_ERROR "specs/${equation}.toml has no partner: expected ${room}/${equation}${suffix}")
    endif()
  endforeach()
  file(GLOB found CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${room} ${PROJECT_SOURCE_DIR}/${room}/*/*${suffix})
  foreach(file ${found})
    string(REGEX REPLACE "${suffix}$" "" equation ${file})
    if(NOT equation IN_LIST ARGN)
      message(SEND_ERROR "${room}/${file} is an orphan: there is no specs/${equation}.toml that asks for it")
    endif()
  endforeach()
endfunction()

# Equations whose spec declares the backend.
function(attest_equations_with backend result)
  set(found)
  foreach(equation ${ATTEST_EQUATIONS})
    file(STRINGS ${PROJECT_SOURCE_DIR}/specs/${equation}.toml lines REGEX "^${backend} *=")
    if(lines)
      list(APPEND found ${equation})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()
attest_equations_with(openmp ATTEST_OPENMP_EQUATIONS)
attest_equations_with(cuda ATTEST_CUDA_EQUATIONS)

attest_partners(reference/include/attest/reference .hpp ${ATTEST_EQUATIONS})
attest_partners(tests/faults .hpp ${ATTEST_EQUATIONS})
attest_partners(optimized/openmp .cpp ${ATTEST_OPENMP_EQUATIONS})
attest_partners(optimized/cuda .cu ${ATTEST_CUDA_EQUATIONS})

# family/stem -> family.stem
set(ATTEST_IDS ${ATTEST_EQUATIONS})
list(TRANSFORM ATTEST_IDS REPLACE "/" ".")
set(ATTEST_OPENMP_IDS ${ATTEST_OPENMP_EQUATIONS})
list(TRANSFORM ATTEST_OPENMP_IDS REPLACE "/" ".")

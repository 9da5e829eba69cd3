# specs/ is the only list of equations: every other folder is derived from it and checked against it. A file that is
# missing, or that belongs to no equation, is an error that names it and what to do; all such errors are shown at once.
file(GLOB_RECURSE specs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/specs ${PROJECT_SOURCE_DIR}/specs/*.toml)
list(REMOVE_ITEM specs catalogue.toml reasons.toml)
set(ATTEST_EQUATIONS) # as linear/causal
set(ATTEST_IDS) # as linear.causal
foreach(spec ${specs})
  if(NOT spec MATCHES "^([a-z_0-9]+)/([a-z_0-9]+)\\.toml$")
    message(SEND_ERROR "specs/${spec}: a spec is specs/FAMILY/STEM.toml, in small letters, digits and _")
    continue()
  endif()
  set(id ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
  list(APPEND ATTEST_EQUATIONS ${CMAKE_MATCH_1}/${CMAKE_MATCH_2})
  list(APPEND ATTEST_IDS ${id})
  file(STRINGS ${PROJECT_SOURCE_DIR}/specs/${spec} line REGEX "^id = " LIMIT_COUNT 1)
  if(NOT line MATCHES "\"${id}\"")
    message(SEND_ERROR "specs/${spec} has '${line}': the id spells the path, id = \"${id}\"")
  endif()
endforeach()

# Laws that specs may claim: a header each.
file(
  GLOB ATTEST_LAWS
  CONFIGURE_DEPENDS
  RELATIVE ${PROJECT_SOURCE_DIR}/tests/laws
  ${PROJECT_SOURCE_DIR}/tests/laws/*.hpp
)
list(TRANSFORM ATTEST_LAWS REPLACE "\\.hpp$" "")

# Where specs/README.md tells how a file of a folder is written: "step N of specs/README.md".
function(attest_step path result)
  file(STRINGS ${PROJECT_SOURCE_DIR}/specs/README.md steps REGEX "^[0-9]+\\. .*${path}")
  set(${result} "specs/README.md" PARENT_SCOPE)
  if(steps MATCHES "^([0-9]+)\\.")
    set(${result} "step ${CMAKE_MATCH_1} of specs/README.md" PARENT_SCOPE)
  endif()
endfunction()

# attest_no_orphans(folder suffix EQUATIONS...): each file belongs to one of the equations.
function(attest_no_orphans folder suffix)
  file(
    GLOB found
    CONFIGURE_DEPENDS
    RELATIVE ${PROJECT_SOURCE_DIR}/${folder}
    ${PROJECT_SOURCE_DIR}/${folder}/*/*${suffix}
  )
  foreach(file ${found})
    string(REGEX REPLACE "${suffix}$" "" equation ${file})
    if(equation IN_LIST ARGN)
      continue()
    elseif(equation IN_LIST ATTEST_EQUATIONS)
      get_filename_component(backend ${folder} NAME)
      set(reason "specs/${equation}.toml does not ask for it; add ${backend} to its [backends], or remove the file")
    else()
      set(reason "there is no specs/${equation}.toml; rename the file, or remove it")
    endif()
    message(SEND_ERROR "${folder}/${file} is an orphan: ${reason}")
  endforeach()
endfunction()

# attest_partners(folder suffix what EQUATIONS...): each equation has its file in the folder, each file its equation.
function(attest_partners folder suffix what)
  attest_step(${folder}/family/stem${suffix} step)
  foreach(equation ${ARGN})
    set(file ${folder}/${equation}${suffix})
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${file})
      string(REPLACE "/" "." id ${equation})
      message(
        SEND_ERROR
        "specs/${equation}.toml has no ${what}: write ${file} (${step}; `tools/attest new ${id}` writes a skeleton)"
      )
    endif()
  endforeach()
  attest_no_orphans(${folder} ${suffix} ${ARGN})
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

attest_partners(reference/include/attest/reference .hpp "reference" ${ATTEST_EQUATIONS})
attest_partners(tests/faults .hpp "faults" ${ATTEST_EQUATIONS})
attest_partners(optimized/openmp .cpp "OpenMP kernels, which its [backends] declare" ${ATTEST_OPENMP_EQUATIONS})
attest_partners(optimized/cuda .cu "CUDA kernels, which its [backends] declare" ${ATTEST_CUDA_EQUATIONS})
attest_no_orphans(tests/properties .hpp ${ATTEST_EQUATIONS})
attest_no_orphans(golden .safetensors ${ATTEST_EQUATIONS})

# The program that writes golden files is built first: a missing golden file is no error yet.
attest_step("golden regenerate" step)
foreach(equation ${ATTEST_EQUATIONS})
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/golden/${equation}.safetensors)
    string(REPLACE "/" "." id ${equation})
    message(
      NOTICE
      "attest: golden/${equation}.safetensors is missing: `tools/attest golden regenerate --only ${id}` (${step})"
    )
  endif()
endforeach()

# The mutants of CUDA kernels name the equation whose kernels they change.
file(GLOB mutants CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/self/mutants/cuda/*.toml)
foreach(mutant ${mutants})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${mutant})
  file(STRINGS ${mutant} line REGEX "^equation *=" LIMIT_COUNT 1)
  string(REGEX MATCH "\"(.*)\"" id "${line}")
  string(REPLACE "." "/" equation "${CMAKE_MATCH_1}")
  if(line AND NOT equation IN_LIST ATTEST_CUDA_EQUATIONS)
    cmake_path(RELATIVE_PATH mutant BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    message(SEND_ERROR "${name} has '${line}': no spec of this id has CUDA kernels; mend the id, or remove the file")
  endif()
endforeach()

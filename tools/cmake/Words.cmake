# A word of the attest command's line may need a target beside the command, called for-WORD: tools/build builds it.

# Of a plugin's name that plugin: cuda-emulated is libattest_cuda_emulated.so.
get_target_property(all_plugins plugins MANUALLY_ADDED_DEPENDENCIES)
foreach(plugin ${all_plugins})
  get_target_property(library ${plugin} OUTPUT_NAME)
  if(NOT library)
    set(library ${plugin})
  endif()
  string(REGEX REPLACE "^attest_" "" name ${library})
  string(REPLACE "_" "-" name ${name})
  add_custom_target(for-${name} DEPENDS ${plugin})
endforeach()

# Of fault:ID.NAME and order:NAME, and of commands that judge a plugin which nobody has to name. (The command mutants is
# called like its plugin.)
foreach(word fault order)
  add_custom_target(for-${word} DEPENDS attest_mutants_plugin)
endforeach()
add_custom_target(for-reproduce DEPENDS attest_openmp)
add_custom_target(for-coverage DEPENDS attest_openmp attest_cuda_emulated)
# tools/portable asks for all that run where there is nothing but the C library: MPI's runs with the machine's own MPI.
set(portable_plugins ${all_plugins})
list(REMOVE_ITEM portable_plugins attest_mpi)
add_custom_target(for-portable DEPENDS ${portable_plugins})
# Programs that tools/bench/gpu.py runs there.
foreach(program attest_tensor_core_sums attest_test_emulation_attention_sizes attest_test_emulation_linear_sizes)
  if(TARGET ${program})
    add_dependencies(for-portable ${program})
  endif()
endforeach()

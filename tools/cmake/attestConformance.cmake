# attest_add_conformance_test(target [OPERATIONS id...] [PROFILES profile...] [ARGUMENTS option...])
#
# Registers ctest tests that judge the plugin `target` (a SHARED or MODULE library that exports attest_plugin_v1): one
# per operation and profile, called attest/<target>/<operation>/<profile>, with the label attest. Without PROFILES each
# kernel is judged by that of its dtype, without OPERATIONS the whole plugin is one test. An operation or profile that
# does not exist stops configure; one that the plugin has no kernel for fails its test. ARGUMENTS go to `attest check`,
# as in --time-limit 60.
function(attest_add_conformance_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPERATIONS;PROFILES;ARGUMENTS")
  if(arg_UNPARSED_ARGUMENTS)
    message(
      FATAL_ERROR
      "attest_add_conformance_test(${target}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}; "
      "there are OPERATIONS, PROFILES, ARGUMENTS"
    )
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "attest_add_conformance_test(${target}): there is no such target")
  endif()
  if(NOT TARGET attest::command)
    message(
      FATAL_ERROR
      "attest_add_conformance_test(${target}): the attest command is not installed beside this package"
    )
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "^(SHARED|MODULE)_LIBRARY$")
    message(
      FATAL_ERROR
      "attest_add_conformance_test(${target}): the target is a ${type}; a plugin is a SHARED or MODULE library"
    )
  endif()
  get_target_property(command attest::command IMPORTED_LOCATION)
  set(operations ${arg_OPERATIONS})
  if(NOT operations)
    set(operations "*")
  endif()
  set(profiles ${arg_PROFILES})
  if(NOT profiles)
    set(profiles default)
  endif()
  foreach(operation ${operations})
    if(NOT operation STREQUAL "*")
      execute_process(
        COMMAND ${command} show ${operation}
        RESULT_VARIABLE status
        OUTPUT_QUIET
        ERROR_VARIABLE error
        ERROR_STRIP_TRAILING_WHITESPACE
      )
      if(NOT status EQUAL 0)
        message(FATAL_ERROR "attest_add_conformance_test(${target}): ${error}")
      endif()
    endif()
    foreach(profile ${profiles})
      set(name attest/${target})
      set(options ${arg_ARGUMENTS})
      if(NOT operation STREQUAL "*")
        string(APPEND name /${operation})
        list(APPEND options --only ${operation})
      endif()
      if(NOT profile STREQUAL "default")
        execute_process(
          COMMAND ${command} show --profile ${profile}
          RESULT_VARIABLE status
          OUTPUT_QUIET
          ERROR_VARIABLE error
          ERROR_STRIP_TRAILING_WHITESPACE
        )
        if(NOT status EQUAL 0)
          message(FATAL_ERROR "attest_add_conformance_test(${target}): ${error}")
        endif()
        string(APPEND name /${profile})
        list(APPEND options --profile ${profile})
      endif()
      add_test(NAME ${name} COMMAND attest::command check $<TARGET_FILE:${target}> ${options})
      set_tests_properties(${name} PROPERTIES LABELS attest TIMEOUT 1800)
    endforeach()
  endforeach()
endfunction()

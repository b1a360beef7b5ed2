# SPDX-License-Identifier: MIT
# The counterpart of missing_tool.h for tests that CMake makes. tegula_missing_tool(TEST TOOL) adds a test in place of
# the tests that need TOOL. The test is skipped because there is no TOOL; in CI (CI=true) it fails.
if(CMAKE_SCRIPT_MODE_FILE)
  if("$ENV{CI}" STREQUAL "true")
    message(FATAL_ERROR "there is no ${tool}, which CI must have; tools/setup installs it")
  endif()
  message("Skipped: there is no ${tool}")
  return()
endif()

set(TEGULA_MISSING_TOOL ${CMAKE_CURRENT_LIST_FILE})
function(tegula_missing_tool test tool)
  add_test(NAME ${test} COMMAND ${CMAKE_COMMAND} "-Dtool=${tool}" -P ${TEGULA_MISSING_TOOL})
  set_tests_properties(${test} PROPERTIES SKIP_REGULAR_EXPRESSION "^Skipped: ")
endfunction()

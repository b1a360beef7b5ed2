# Tests that `source` compiles with only the include paths of dsl/ and base/, and includes no header of LLVM.
set(includes -I${CMAKE_CURRENT_LIST_DIR}/../../dsl/include -I${CMAKE_CURRENT_LIST_DIR}/../../base/include)
execute_process(COMMAND ${compiler} -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I. ${includes} -H ${source}
  WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR} RESULT_VARIABLE result ERROR_VARIABLE headers)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${headers}")
endif()
if(headers MATCHES "[^\n]*/(mlir|llvm)/[^\n]*")
  message(FATAL_ERROR "includes ${CMAKE_MATCH_0}")
endif()

# SPDX-License-Identifier: MIT
# Builds a copy of the folder ${example} in ${work}, with only those parts of Tegula that are installed in ${prefix}.
file(REMOVE_RECURSE ${work})
file(COPY ${example}/ DESTINATION ${work}/source)
execute_process(
  COMMAND ${CMAKE_COMMAND} -G Ninja -S ${work}/source -B ${work} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_C_COMPILER=${c_compiler} -DCMAKE_CXX_COMPILER=${cxx_compiler}
    "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${work} COMMAND_ERROR_IS_FATAL ANY)

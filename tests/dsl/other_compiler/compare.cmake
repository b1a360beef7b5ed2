# Builds dsl_dump with `compiler` in `binary` and compares what it prints with what `dump` prints.
set(options -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${binary} ${options}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${binary} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${binary}/dsl_dump OUTPUT_FILE ${binary}/other.mlir COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${dump} OUTPUT_FILE ${binary}/this.mlir COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND diff ${binary}/this.mlir ${binary}/other.mlir COMMAND_ERROR_IS_FATAL ANY)

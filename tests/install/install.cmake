# SPDX-License-Identifier: MIT
# Installs the build tree ${build} into a new folder, ${prefix}.
file(REMOVE_RECURSE ${prefix})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${build} --prefix ${prefix} COMMAND_ERROR_IS_FATAL ANY)

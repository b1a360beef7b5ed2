# The files that users get: `cmake --install`, find_package(tegula), and a Debian package. The target `installed` builds
# all of them.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tegula)
# The library finds tegula-cc in ../bin or ../../bin. The command line finds tegula-cc and tegula-measure next to
# itself.
set(programs tegula tegula-opt tegula-cc tegula-measure)
add_custom_target(installed DEPENDS tegula_host tegula_tools ${programs})

# The first rule that runs. It says what to do if something was not built.
foreach(target tegula_host tegula_tools ${programs})
  install(CODE "
    if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
      message(FATAL_ERROR \"$<TARGET_FILE_NAME:${target}> is not built. Build the target `installed` first: cmake --build ${PROJECT_BINARY_DIR} --target installed\")
    endif()")
endforeach()

set_target_properties(tegula_host PROPERTIES EXPORT_NAME tegula)
set_target_properties(tegula_tools PROPERTIES EXPORT_NAME tools INSTALL_RPATH "$ORIGIN")
install(TARGETS tegula_host tegula_tools EXPORT tegula)
install(EXPORT tegula NAMESPACE tegula:: FILE tegulaTargets.cmake DESTINATION ${package_folder})
foreach(folder base dsl runtime plan kernels workload tuner host)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/tegula DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    PATTERN internal EXCLUDE)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/host/python/libtegula.py ${PROJECT_SOURCE_DIR}/host/python/libtegula_torch.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/tegula/python)

# LLVM's shared libraries stay where they are. With LLVM inside, the compiler is a shared library of ours.
if(TEGULA_STATIC_LLVM)
  install(TARGETS tegula_inprocess)
  file(RELATIVE_PATH libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
endif()
set_target_properties(${programs} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ${programs})

file(CONFIGURE OUTPUT tegulaConfig.cmake CONTENT "include(\${CMAKE_CURRENT_LIST_DIR}/tegulaTargets.cmake)\n" @ONLY)
write_basic_package_version_file(tegulaConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tegulaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tegulaConfigVersion.cmake
  DESTINATION ${package_folder})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tegula)
set(CPACK_PACKAGE_CONTACT "the Tegula developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Attention kernels for GPUs and CPUs, compiled at run time")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)

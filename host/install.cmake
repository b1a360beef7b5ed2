# What hosts get: `cmake --install`, find_package(tegula), and a Debian package.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tegula)

set_target_properties(tegula_host PROPERTIES EXPORT_NAME tegula)
install(TARGETS tegula_host EXPORT tegula)
install(EXPORT tegula NAMESPACE tegula:: FILE tegulaTargets.cmake DESTINATION ${package_folder})
foreach(folder base dsl runtime kernels host)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/tegula DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()

# Beside the library, where it is looked for.
set_target_properties(tegula-cc PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS tegula-cc DESTINATION ${CMAKE_INSTALL_LIBDIR}/tegula)

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

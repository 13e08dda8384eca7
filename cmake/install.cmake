# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
# `cmake --install`: programs, libraries, headers, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(wavetap_shared PROPERTIES EXPORT_NAME wavetap)
target_include_directories(wavetap_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS wavetap RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET wavetap_soak_program)
  install(TARGETS wavetap_soak_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
set_target_properties(wavetap_decode_shared PROPERTIES EXPORT_NAME decode)
target_include_directories(wavetap_decode_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS wavetap_shared wavetap_decode_shared EXPORT wavetapTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS wavetap_tool_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS wavetap_compat_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/wavetap/compat)
foreach(library wavetap-softgpu wavetap-softgpu-engine)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wavetap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT wavetapTargets NAMESPACE wavetap:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wavetap)
file(WRITE ${CMAKE_BINARY_DIR}/wavetapConfig.cmake
     "include(\"\${CMAKE_CURRENT_LIST_DIR}/wavetapTargets.cmake\")\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/wavetapConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/wavetapConfig.cmake ${CMAKE_BINARY_DIR}/wavetapConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wavetap)

file(WRITE ${CMAKE_BINARY_DIR}/wavetap.pc.in
"prefix=@CMAKE_INSTALL_PREFIX@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: wavetap
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Libs: -L\${libdir} -lwavetap
Cflags: -I\${includedir}
")
file(WRITE ${CMAKE_BINARY_DIR}/wavetap-decode.pc.in
"prefix=@CMAKE_INSTALL_PREFIX@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: wavetap-decode
Description: Decoding thread traces (ATT, SQTT) of AMD GPUs
Version: @PROJECT_VERSION@
Libs: -L\${libdir} -lwavetap-decode
Cflags: -I\${includedir}
")
# At install time, so that `cmake --install --prefix` is honoured.
install(CODE "
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
  set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
  set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
  configure_file(\"${CMAKE_BINARY_DIR}/wavetap.pc.in\"
                 \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/wavetap.pc\" @ONLY)
  configure_file(\"${CMAKE_BINARY_DIR}/wavetap-decode.pc.in\"
                 \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/wavetap-decode.pc\" @ONLY)
")

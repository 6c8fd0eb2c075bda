# What "cmake --install" lays down, in two components.
#
# library  the public headers, the doubles (as <sluice/testing/…>), libsluice.a and what find_package(sluice) reads
# daemon   bin/sluice
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)

# One archive of all modules that need no daemon, so that the package is one target: sluice::sluice.
# The target has another name here, because "sluice" is the daemon.
set(modules limiter memory redis identity edge)
add_library(sluice_library STATIC)
add_library(sluice::sluice ALIAS sluice_library)
set_target_properties(sluice_library PROPERTIES OUTPUT_NAME sluice EXPORT_NAME sluice)
target_compile_features(sluice_library PUBLIC cxx_std_23)
target_include_directories(
  sluice_library INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
foreach(module ${modules})
  target_sources(sluice_library PRIVATE $<TARGET_OBJECTS:sluice_${module}>)
endforeach()
target_link_libraries(sluice_library PRIVATE OpenSSL::SSL OpenSSL::Crypto hiredis fmt::fmt Threads::Threads)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/sluiceConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/sluiceConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS sluice_library EXPORT sluiceTargets COMPONENT library)
install(EXPORT sluiceTargets NAMESPACE sluice:: DESTINATION ${package_dir} COMPONENT library)
install(FILES ${PROJECT_BINARY_DIR}/sluiceConfig.cmake ${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT library FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/testing/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sluice/testing
        COMPONENT library FILES_MATCHING PATTERN "*.h")
if(SLUICE_DAEMON)
  install(TARGETS sluice RUNTIME COMPONENT daemon)
endif()

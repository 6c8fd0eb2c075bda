# What every target is compiled with, and the switches of a build.

option(SLUICE_DAEMON "Build the daemon: HTTP server, configuration, command line" ON)
option(SLUICE_TESTS "Build the tests" ON)
option(SLUICE_BENCH "Build the benchmarks" OFF)
option(SLUICE_FUZZ "Build the fuzz targets (clang)" OFF)
set(SLUICE_SANITIZE "" CACHE STRING "Value for -fsanitize=, empty for none")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SLUICE_CCACHE})
endif()

find_package(Threads REQUIRED)

add_library(sluice_options INTERFACE)
target_compile_options(sluice_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 finds these in libstdc++'s own inlined code, where there is nothing to mend.
  target_compile_options(sluice_options INTERFACE -Wno-maybe-uninitialized -Wno-restrict
                                                  -Wno-stringop-overflow -Wno-array-bounds
                                                  -Wno-stringop-overread)
else()
  # Clang counts these to -Wconversion, GCC does not: one set of warnings for both.
  target_compile_options(sluice_options INTERFACE -Wno-sign-conversion)
endif()
target_compile_definitions(sluice_options INTERFACE BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(sluice_options INTERFACE Threads::Threads)
if(SLUICE_SANITIZE)
  add_compile_options(-fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
endif()
if(SLUICE_FUZZ)
  # The modules report their branches to the fuzz targets, which alone get libFuzzer's main.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# cmake -D BUILD=… -D SOURCE=… -D COMPILER=… -D VERSION=… -D DAEMON=ON|OFF -P package_test.cmake
cmake_minimum_required(VERSION 3.25)

# Far from the sources, so that nothing is found there by luck.
execute_process(COMMAND mktemp -d OUTPUT_VARIABLE place OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)

function(fail text)
  file(REMOVE_RECURSE ${place})
  message(FATAL_ERROR "${text}")
endfunction()

# Runs a command that must succeed; leaves what it printed in `output`.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    fail("${ARGV}: ${status}\n${out}${err}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

function(expect what got wanted)
  if(NOT got STREQUAL wanted)
    fail("${what} printed\n${got}instead of\n${wanted}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${place}/first)
file(RENAME ${place}/first ${place}/prefix)

file(GLOB_RECURSE config ${place}/prefix/*.cmake)
if(NOT config)
  fail("no CMake package was installed")
endif()
foreach(file ${config})
  file(STRINGS ${file} found REGEX "${SOURCE}|${place}")
  if(found)
    fail("${file} names a folder of the machine that built it: ${found}")
  endif()
endforeach()

file(COPY ${SOURCE}/tests/package/consumer DESTINATION ${place})
run(${CMAKE_COMMAND} -G Ninja -S ${place}/consumer -B ${place}/build -D CMAKE_PREFIX_PATH=${place}/prefix
    -D CMAKE_CXX_COMPILER=${COMPILER} -D WANTED_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${place}/build)
run(${place}/build/consumer)
expect(consumer "${output}" "evaluated 1 1 0, retry in 60000 ms
answered 200 200 429, Retry-After 60
asked nobody: unavailable
version ${VERSION}
")

if(DAEMON)
  run(${place}/prefix/bin/sluice version)
  if(NOT output MATCHES "${VERSION}")
    fail("bin/sluice version printed ${output}")
  endif()
endif()
file(REMOVE_RECURSE ${place})

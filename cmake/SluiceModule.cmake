# One library per folder. sluice_module(NAME limiter SOURCES a.cc DEPS include PRIVATE_LIBS OpenSSL::Crypto
#                                       TESTS a_test.cc TEST_LIBS …)
#
# NAME       folder, target (sluice_<name>) and namespace carry it
# SOURCES    the folder's .cc files
# DEPS       the modules it may use; tools/check_layers holds the includes to the same table
# LIBS       third-party targets that its headers use
# PRIVATE_LIBS third-party targets that only its .cc files use
# TESTS      *_test.cc beside the code, one test program <name>_test per folder
# TEST_LIBS  what only the tests need
function(sluice_module)
  cmake_parse_arguments(M "" "NAME" "SOURCES;DEPS;LIBS;PRIVATE_LIBS;TESTS;TEST_LIBS" ${ARGN})
  set(target sluice_${M_NAME})
  list(TRANSFORM M_DEPS PREPEND sluice_)
  add_library(${target} STATIC ${M_SOURCES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC ${M_DEPS} ${M_LIBS} PRIVATE sluice_options ${M_PRIVATE_LIBS})
  if(SLUICE_TESTS AND M_TESTS)
    sluice_test(NAME ${M_NAME}_test SOURCES ${M_TESTS} LIBS ${target} ${M_TEST_LIBS})
  endif()
endfunction()

# A GoogleTest program whose cases ctest knows one by one. A program without a case is an error.
function(sluice_test)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LIBS" ${ARGN})
  include(GoogleTest)
  add_executable(${T_NAME} ${T_SOURCES})
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS} sluice_options GTest::gtest GTest::gtest_main rapidcheck
                                          rapidcheck_gtest)
  target_include_directories(${T_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  gtest_discover_tests(${T_NAME} TEST_PREFIX "${T_NAME}/" DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()

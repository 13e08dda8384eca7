# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT

# wavetap_library(FOLDER SOURCES… [LINKS…]): static library wavetap_FOLDER of src/FOLDER.
function(wavetap_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(wavetap_${folder} STATIC ${ARG_SOURCES})
  wavetap_flags(wavetap_${folder})
  target_include_directories(wavetap_${folder} PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                      ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(wavetap_${folder} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()

# What ThreadSanitizer looks at: the tests that start threads.
add_custom_target(thread_tests)

# wavetap_test(NAME SOURCES… LINKS… [LABEL quick|long] [THREADS]): one GoogleTest program, one ctest entry.
# THREADS: it starts threads. Without it the test fails if it does, and ThreadSanitizer does not run it.
function(wavetap_test name)
  cmake_parse_arguments(ARG "THREADS" "LABEL;TIMEOUT" "SOURCES;LINKS;ENVIRONMENT" ${ARGN})
  if(NOT WAVETAP_TESTS)
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL quick)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(WAVETAP_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 10")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  wavetap_flags(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} GTest::gtest_main GTest::gmock)
  if(ARG_THREADS)
    add_dependencies(thread_tests ${name})
  elseif(WAVETAP_SANITIZE STREQUAL "thread")
    return()
  elseif(TARGET one_thread)
    add_dependencies(${name} one_thread)
    list(APPEND ARG_ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:one_thread>")
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT}
                                          ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

function(wavetap_flags target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                           -Wnon-virtual-dtor)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -Wthread-safety)
  else()
    # gcc 12 at -O2 and above sees overlaps in std::string that cannot be.
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(WAVETAP_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(WAVETAP_SANITIZE STREQUAL "address")
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined
                           -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
    # The fuzzer sees what an input reaches, in libraries too.
    if(WAVETAP_FUZZ)
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
  elseif(WAVETAP_SANITIZE STREQUAL "thread")
    target_compile_options(${target} PRIVATE -fsanitize=thread -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=thread)
  endif()
endfunction()

# A shared library finds all its symbols when it is linked. Not under sanitizers: clang keeps their
# runtime in the program.
function(wavetap_no_undefined target)
  if(NOT WAVETAP_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
endfunction()

# The folder with real traces and recorded streams; WAVETAP_DATA in the environment overrides.
set(WAVETAP_DATA_DEFAULT "${PROJECT_SOURCE_DIR}/../shared/data" CACHE PATH
    "Real hardware traces and recorded command streams used by tests")

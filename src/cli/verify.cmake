# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT

# The logic of `wavetap verify` (src/cli/verify.hpp).
wavetap_library(verify SOURCES verify.cpp verify_folder.cpp verify_match.cpp verify_print.cpp verify_samples.cpp
                        verify_truth.cpp verify_waves.cpp
                LINKS wavetap_store wavetap_decode wavetap_code wavetap_softgpu_truth wavetap_base
                PRIVATE_LINKS nlohmann_json::nlohmann_json)

if(WAVETAP_TESTS)
  find_program(WAVETAP_CLANG19 clang-19 REQUIRED)
  set(kernels ${CMAKE_CURRENT_BINARY_DIR}/verify_kernels.elf)
  add_custom_command(
    OUTPUT ${kernels}
    COMMAND ${WAVETAP_CLANG19} -target amdgcn-amd-amdhsa -mcpu=gfx90a
            ${CMAKE_CURRENT_SOURCE_DIR}/testdata/verify_kernels.s -o ${kernels}
    DEPENDS testdata/verify_kernels.s
    COMMENT "Assembling verify_kernels.s"
    VERBATIM)
  add_custom_target(verify_testdata DEPENDS ${kernels})
  wavetap_test(verify_test THREADS SOURCES verify_test.cpp verify_blob_test.cpp verify_classes_test.cpp
               verify_rules_test.cpp verify_samples_test.cpp verify_truth_test.cpp
               LINKS wavetap_verify wavetap_sqtt wavetap_pm4 nlohmann_json::nlohmann_json)
  add_dependencies(verify_test verify_testdata)
  target_compile_definitions(verify_test PRIVATE WAVETAP_VERIFY_KERNELS="${kernels}")
  # The same through the chip model.
  wavetap_test(verify_chip_test SOURCES verify_chip_test.cpp
               LINKS wavetap_verify wavetap_softgpu wavetap_pm4)
  add_dependencies(verify_chip_test verify_testdata)
  target_compile_definitions(verify_chip_test PRIVATE WAVETAP_VERIFY_KERNELS="${kernels}")
endif()

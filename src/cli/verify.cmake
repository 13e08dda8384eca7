# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT

# The logic of `wavetap verify` (src/cli/verify.hpp).
set(sources verify.cpp verify_match.cpp verify_print.cpp)
set(links wavetap_store wavetap_base)
if(TARGET wavetap_decode AND TARGET wavetap_softgpu)
  list(APPEND sources verify_folder.cpp)
  list(APPEND links wavetap_decode wavetap_code wavetap_softgpu)
endif()
wavetap_library(verify SOURCES ${sources} LINKS ${links}
                PRIVATE_LINKS nlohmann_json::nlohmann_json)
wavetap_test(verify_test SOURCES verify_test.cpp LINKS wavetap_verify nlohmann_json::nlohmann_json)

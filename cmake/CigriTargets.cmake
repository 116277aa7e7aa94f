# cigri_library(core LINK a b): every *.cc of this folder but main.cc, as cigri_core.
# cigri_program(updator LINK a b): main.cc of this folder, as bin/updator.
# cigri_tests(core LINK a b): tests/<folder>/*_test.cc as one program, *_pgtest.cc as another; whole
# grids: *_systest.cc (label system) and *_faulttest.cc (label faults), each alone on the machine.

if(CIGRI_PCH)
  add_library(cigri_pch STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
  target_precompile_headers(cigri_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
  target_link_libraries(cigri_pch PUBLIC Threads::Threads nlohmann_json::nlohmann_json)
endif()

function(cigri_library name)
  cmake_parse_arguments(A "" "" "LINK;EXTRA" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$|/[a-z_]*_main\\.cc$")
  add_library(cigri_${name} STATIC ${sources} ${A_EXTRA})
  target_include_directories(cigri_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(cigri_${name} PUBLIC ${A_LINK} Threads::Threads nlohmann_json::nlohmann_json)
  if(CIGRI_PCH)
    target_precompile_headers(cigri_${name} REUSE_FROM cigri_pch)
  else()  # the same text, so that both kinds of build accept the same sources
    target_compile_options(cigri_${name} PRIVATE -include ${CMAKE_SOURCE_DIR}/cmake/pch.h)
  endif()
endfunction()

function(cigri_program name)
  cmake_parse_arguments(A "" "" "LINK;SOURCES" ${ARGN})
  if(NOT A_SOURCES)
    set(A_SOURCES main.cc)
  endif()
  add_executable(${name} ${A_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${A_LINK})
endfunction()

function(cigri_tests name)
  cmake_parse_arguments(A "" "" "LINK" ${ARGN})
  foreach(kind test pgtest systest faulttest)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_${kind}.cc)
    if(sources)
      set(program ${name}_${kind})
      add_executable(${program} ${sources})
      target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
      target_link_libraries(${program} PRIVATE ${A_LINK} cigri_test_support)
      target_compile_options(${program} PRIVATE -O0)  # a test is compiled more often than it runs
      target_compile_definitions(${program} PRIVATE
        CIGRI_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" CIGRI_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
      # One line per suite in ctest: a suite is a program.
      add_test(NAME ${program} COMMAND ${program})
      set_tests_properties(${program} PROPERTIES TIMEOUT 600 LABELS ${kind})
      if(CIGRI_SANITIZE)
        set_tests_properties(${program} PROPERTIES TIMEOUT 1800 ENVIRONMENT
          "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/lsan.supp;TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/tsan.supp")
      endif()
      if(kind STREQUAL systest)
        set_tests_properties(${program} PROPERTIES RUN_SERIAL ON LABELS system)
      elseif(kind STREQUAL faulttest)
        set_tests_properties(${program} PROPERTIES RUN_SERIAL ON LABELS faults)
      endif()
    endif()
  endforeach()
endfunction()

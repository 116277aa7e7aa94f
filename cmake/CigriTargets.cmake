# cigri_library(core LINK a b): every *.cc of this folder but main.cc, as cigri_core.
# cigri_program(updator LINK a b): main.cc of this folder, as bin/updator.
# cigri_tests(core LINK a b): tests/<folder>/*_test.cc as one program, *_pgtest.cc as another; whole
# grids: *_systest.cc (label system) and *_faulttest.cc (label faults), each alone on the machine.

# What ships is hardened; tests/core/binaries_test.cc reads it off the programs. FORTIFY needs
# optimisation, and no test is optimised. Executables are position-independent by Debian's default.
set(CIGRI_HARDENING -fstack-protector-strong)
function(cigri_harden target)
  target_compile_options(${target} PRIVATE ${CIGRI_HARDENING}
                         $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
endfunction()
add_link_options(-Wl,-z,relro,-z,now)

# How much the compiler optimises. `decides`: its own computing is what a user waits for. `waits`: for
# PostgreSQL, clusters, processes or users; it compiles in less time.
set(CIGRI_LEVEL_decides -O1)
set(CIGRI_LEVEL_waits -Og)

# One precompiled header for each level: g++ optimises what includes one as the header was, whatever
# its own options say.
if(CIGRI_PCH)
  foreach(level decides waits)
    add_library(cigri_pch_${level} STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
    target_precompile_headers(cigri_pch_${level} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
    target_compile_options(cigri_pch_${level} PRIVATE $<$<CONFIG:Release>:${CIGRI_LEVEL_${level}}>)
    target_link_libraries(cigri_pch_${level} PUBLIC Threads::Threads nlohmann_json::nlohmann_json)
    cigri_harden(cigri_pch_${level})
  endforeach()
endif()

find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
# The program itself, when what was found is a script that starts it (of pyenv): it starts 70 times here.
execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)"
                OUTPUT_VARIABLE Python3_EXECUTABLE OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)

# Several files as one text: what they share (headers, instantiated templates) is compiled once.
# cmake/unity_batches.py keeps apart files that use one name for different things.
function(cigri_compile_together target)
  if(NOT CIGRI_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  list(LENGTH sources number)
  if(number LESS 2)
    return()
  endif()
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/unity_batches.py
                          ${CIGRI_UNITY_MOST} ${sources}
                  OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.*)$" matched "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP batch${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A name that one file declares does not shadow a name of another file. Preset dev, which compiles
  # each file alone, gives these two warnings.
  target_compile_options(${target} PRIVATE -Wno-shadow -Wshadow=local -Wno-subobject-linkage)
endfunction()

# Every file begins with cmake/pch.h, precompiled or not, so that each kind of build accepts the
# same sources. LEVEL: decides or waits.
function(cigri_compile target level)
  cigri_harden(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${CIGRI_LEVEL_${level}}>)
  if(CIGRI_PCH)
    target_precompile_headers(${target} REUSE_FROM cigri_pch_${level})
  else()
    target_compile_options(${target} PRIVATE -include ${CMAKE_SOURCE_DIR}/cmake/pch.h)
  endif()
endfunction()

# JSON's templates, for all programs.
add_library(cigri_json STATIC ${CMAKE_SOURCE_DIR}/cmake/json_instances.cc)
target_link_libraries(cigri_json PUBLIC nlohmann_json::nlohmann_json)
cigri_compile(cigri_json decides)

# DECIDES: see above.
function(cigri_library name)
  cmake_parse_arguments(A "DECIDES" "" "LINK;EXTRA" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$|/[a-z_]*_main\\.cc$")
  add_library(cigri_${name} STATIC ${sources} ${A_EXTRA})
  target_include_directories(cigri_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(cigri_${name} PUBLIC ${A_LINK} Threads::Threads nlohmann_json::nlohmann_json)
  set(level waits)
  if(A_DECIDES)
    set(level decides)
  endif()
  cigri_compile(cigri_${name} ${level})
  cigri_compile_together(cigri_${name})
endfunction()

function(cigri_program name)
  cmake_parse_arguments(A "" "" "LINK;SOURCES" ${ARGN})
  if(NOT A_SOURCES)
    set(A_SOURCES main.cc)
  endif()
  add_executable(${name} ${A_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${A_LINK} Threads::Threads)
  cigri_compile(${name} waits)
  cigri_compile_together(${name})
endfunction()

function(cigri_tests name)
  cmake_parse_arguments(A "" "" "LINK" ${ARGN})
  foreach(kind test pgtest systest faulttest hostiletest)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_${kind}.cc)
    if(sources)
      set(program ${name}_${kind})
      add_executable(${program} ${sources})
      target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
      target_link_libraries(${program} PRIVATE ${A_LINK} cigri_test_support)
      target_compile_options(${program} PRIVATE -O0)  # a test is compiled more often than it runs
      if(CIGRI_PCH)
        target_precompile_headers(${program} REUSE_FROM cigri_test_pch)
      endif()
      cigri_compile_together(${program})
      target_compile_definitions(${program} PRIVATE
        CIGRI_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" CIGRI_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
      # One line per suite in ctest: a suite is a program.
      if(kind STREQUAL systest)
        add_test(NAME ${program}
          COMMAND ${CMAKE_SOURCE_DIR}/scripts/halves $<TARGET_FILE:${program}>)
      else()
        add_test(NAME ${program} COMMAND ${program})
      endif()
      set_tests_properties(${program} PROPERTIES TIMEOUT 600 LABELS ${kind})
      if(CIGRI_SANITIZE)
        set_tests_properties(${program} PROPERTIES TIMEOUT 1800 ENVIRONMENT
          "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/lsan.supp;TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/tsan.supp")
      endif()
      if(kind STREQUAL systest)
        set_tests_properties(${program} PROPERTIES RUN_SERIAL ON LABELS system)
      elseif(kind STREQUAL faulttest)
        set_tests_properties(${program} PROPERTIES RUN_SERIAL ON LABELS faults)
      elseif(kind STREQUAL hostiletest)
        set_tests_properties(${program} PROPERTIES RUN_SERIAL ON LABELS hostile)
      endif()
    endif()
  endforeach()
endfunction()

# What the whole tree is compiled with. Options, warnings, libraries; nothing clever.
option(CIGRI_TESTS "build the tests" ON)
option(CIGRI_BENCH "build the benchmarks" OFF)
# A precompiled header is quicker on an empty cache; without it ccache serves several checkouts.
option(CIGRI_PCH "precompiled header" OFF)
# Several files as one translation unit: a third of the CPU time of a whole build, but an edited file
# takes its neighbours along.
option(CIGRI_UNITY "compile several files of a target as one" OFF)
set(CIGRI_UNITY_MOST 16 CACHE STRING "most files that are compiled as one")
set(CIGRI_SANITIZE "" CACHE STRING "sanitizers: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  if(CIGRI_PCH)
    # Precompiled headers need these relaxations, or every look-up is a miss.
    list(APPEND launcher
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
    add_compile_options(-fpch-preprocess)
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher} ${CCACHE})
endif()

# g++ 12 counts a designated initializer that leaves members to their defaults as a missing one.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13
   AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  # Optimising, g++ 12 sees overflows in "text" + std::string that are not there (its PR 105329, 105651).
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # A compiler of this size collects its garbage some dozen times in a file: 8 % of its time.
  add_compile_options(--param=ggc-min-heapsize=600000 --param=ggc-min-expand=200)
endif()
if(CIGRI_SANITIZE)
  add_compile_options(-fsanitize=${CIGRI_SANITIZE} -fno-omit-frame-pointer -g1)
  # g++ 12 with sanitizers sees this in every std::regex, where it is not (gcc bug 105562).
  add_compile_options(-Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${CIGRI_SANITIZE})
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(utf8cpp REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS filesystem)
pkg_check_modules(PQXX REQUIRED IMPORTED_TARGET libpqxx)
pkg_check_modules(PQ REQUIRED IMPORTED_TARGET libpq)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(LUACPP REQUIRED IMPORTED_TARGET lua5.4-c++)
pkg_check_modules(SIMDJSON REQUIRED IMPORTED_TARGET simdjson)
pkg_check_modules(PUGIXML REQUIRED IMPORTED_TARGET pugixml)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(SMARTCOLS REQUIRED IMPORTED_TARGET smartcols)
# libpqxx 6.4 reads NULL into std::optional only with this, in every file (reference: ecosystem).
add_compile_definitions(PQXX_HAVE_OPTIONAL)

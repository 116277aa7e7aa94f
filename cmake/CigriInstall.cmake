# cmake --install: what goes where (docs/install.md). The paths are those of GNUInstallDirs, and the
# programs find each other and their data relative to themselves, so that a tree may be moved.
set(CIGRI_TOOLS gridsub gridstat griddel gridmod gridevents gridclusters gridnotify gridtoken
    gridadmin gridsim localsub cigri)
set(CIGRI_DAEMONS almighty updator predictor metascheduler runner nikita notifier api gridadmit localcluster)
# No user types the names of these ("api", "runner"), so they stay out of $PATH.
set(CIGRI_DAEMON_DIR ${CMAKE_INSTALL_LIBEXECDIR}/cigri)
set(CIGRI_UNIT_DIR lib/systemd/system CACHE STRING "where units of systemd go")
file(RELATIVE_PATH CIGRI_PROGRAMS_TO_DAEMONS /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CIGRI_DAEMON_DIR})

# For packages that serve several releases of Debian: copies of libraries that only one of them has.
option(CIGRI_BUNDLE "install private copies of libraries" OFF)
set(CIGRI_BUNDLED cpp-httplib spdlog fmt simdjson pqxx boost_filesystem lua5.4)
if(CIGRI_BUNDLE)
  set(CIGRI_BUNDLE_DIR ${CMAKE_INSTALL_LIBDIR}/cigri)
  file(RELATIVE_PATH from_tools /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CIGRI_BUNDLE_DIR})
  file(RELATIVE_PATH from_daemons /prefix/${CIGRI_DAEMON_DIR} /prefix/${CIGRI_BUNDLE_DIR})
endif()

function(cigri_install_programs directory path_to_libraries)
  if(NOT CIGRI_BUNDLE)
    install(TARGETS ${ARGN} DESTINATION ${directory})
    return()
  endif()
  set_target_properties(${ARGN} PROPERTIES INSTALL_RPATH "$ORIGIN/${path_to_libraries}")
  install(TARGETS ${ARGN} RUNTIME_DEPENDENCY_SET cigri_libraries DESTINATION ${directory})
endfunction()

# Units of systemd, the documented configuration, and cigri-setup, for a grid of a site.
function(cigri_install_services)
  set(CIGRI_DAEMON_PATH ${CMAKE_INSTALL_FULL_LIBEXECDIR}/cigri)
  file(READ ${CMAKE_SOURCE_DIR}/systemd/sandbox CIGRI_SANDBOX)
  foreach(unit cigri-almighty.service cigri-api.service cigri-localcluster@.service)
    configure_file(systemd/${unit}.in ${CMAKE_BINARY_DIR}/systemd/${unit} @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/systemd/${unit} DESTINATION ${CIGRI_UNIT_DIR})
  endforeach()
  install(FILES systemd/cigri.conf DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(PROGRAMS scripts/cigri-setup DESTINATION ${CMAKE_INSTALL_SBINDIR})
endfunction()

# A man page for each tool, from its own --help; without help2man there are none.
find_program(HELP2MAN help2man)
function(cigri_man_pages)
  if(NOT HELP2MAN)
    message(STATUS "no man pages: help2man is not installed")
    return()
  endif()
  set(pages)
  foreach(tool ${CIGRI_TOOLS})
    set(page ${CMAKE_BINARY_DIR}/man/${tool}.1)
    set(help --help)
    if(tool MATCHES "^(cigri|gridadmin)$")
      set(help --help-all)  # of all their commands
    endif()
    add_custom_command(OUTPUT ${page}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/man_page.py ${HELP2MAN}
              $<TARGET_FILE:${tool}> ${page} ${help} ${PROJECT_VERSION} ${CMAKE_SOURCE_DIR}/cmake/man.h2m
      DEPENDS ${tool} ${CMAKE_SOURCE_DIR}/cmake/man.h2m ${CMAKE_SOURCE_DIR}/cmake/man_page.py VERBATIM)
    list(APPEND pages ${page})
  endforeach()
  set(setup_page ${CMAKE_BINARY_DIR}/man/cigri-setup.8)
  add_custom_command(OUTPUT ${setup_page}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/man_page.py ${HELP2MAN}
            ${CMAKE_SOURCE_DIR}/scripts/cigri-setup ${setup_page} --help ${PROJECT_VERSION}
            ${CMAKE_SOURCE_DIR}/cmake/man.h2m
    DEPENDS scripts/cigri-setup cmake/man.h2m cmake/man_page.py VERBATIM)
  add_custom_target(man ALL DEPENDS ${pages} ${setup_page})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${setup_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
endfunction()

function(cigri_install)
  cigri_man_pages()
  cigri_install_services()
  cigri_install_programs(${CMAKE_INSTALL_BINDIR} "${from_tools}" ${CIGRI_TOOLS})
  cigri_install_programs(${CIGRI_DAEMON_DIR} "${from_daemons}" ${CIGRI_DAEMONS})
  if(CIGRI_BUNDLE)
    list(JOIN CIGRI_BUNDLED "|" names)
    install(RUNTIME_DEPENDENCY_SET cigri_libraries PRE_EXCLUDE_REGEXES ".*"
            PRE_INCLUDE_REGEXES "^lib(${names})[.-]" DESTINATION ${CIGRI_BUNDLE_DIR})
  endif()
  install(PROGRAMS ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/cigri-job DESTINATION ${CIGRI_DAEMON_DIR})
  install(FILES python/cigri.py DESTINATION ${CMAKE_INSTALL_DATADIR}/cigri/python)
  install(DIRECTORY scripts/clusters DESTINATION ${CMAKE_INSTALL_DATADIR}/cigri USE_SOURCE_PERMISSIONS)
  # By scripts/page.sh, which says so when there is none; the API serves the tools without it.
  install(DIRECTORY ${CMAKE_BINARY_DIR}/web DESTINATION ${CMAKE_INSTALL_DATADIR}/cigri OPTIONAL)
  install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/manual)
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)
  install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
  # bash-completion looks for a file with the name of the command.
  set(completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  foreach(tool ${CIGRI_TOOLS})
    install(FILES tools/completion/cigri.bash DESTINATION ${completions} RENAME ${tool})
  endforeach()
endfunction()

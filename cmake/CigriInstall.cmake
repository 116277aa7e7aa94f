# cmake --install: what goes where (docs/install.md). The paths are those of GNUInstallDirs, and the
# programs find each other and their data relative to themselves, so that a tree may be moved.
set(CIGRI_TOOLS gridsub gridstat griddel gridmod gridevents gridclusters gridnotify gridtoken
    gridadmin gridsim localsub cigri)
set(CIGRI_DAEMONS almighty updator predictor metascheduler runner nikita api gridadmit localcluster)
# No user types the names of these ("api", "runner"), so they stay out of $PATH.
set(CIGRI_DAEMON_DIR ${CMAKE_INSTALL_LIBEXECDIR}/cigri)
file(RELATIVE_PATH CIGRI_PROGRAMS_TO_DAEMONS /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CIGRI_DAEMON_DIR})

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
  add_custom_target(man ALL DEPENDS ${pages})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endfunction()

function(cigri_install)
  cigri_man_pages()
  install(TARGETS ${CIGRI_TOOLS})
  install(TARGETS ${CIGRI_DAEMONS} DESTINATION ${CIGRI_DAEMON_DIR})
  install(PROGRAMS ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/cigri-job DESTINATION ${CIGRI_DAEMON_DIR})
  install(FILES python/cigri.py DESTINATION ${CMAKE_INSTALL_DATADIR}/cigri/python)
  install(DIRECTORY scripts/clusters DESTINATION ${CMAKE_INSTALL_DATADIR}/cigri USE_SOURCE_PERMISSIONS)
  install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/manual)
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)
  install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
  # bash-completion looks for a file with the name of the command.
  set(completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  foreach(tool ${CIGRI_TOOLS})
    install(FILES tools/completion/cigri.bash DESTINATION ${completions} RENAME ${tool})
  endforeach()
endfunction()

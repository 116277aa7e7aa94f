# sql/queries/<module>/<statement>.sql becomes the constant cigri::sql::<module>::k<Statement> in
# build/generated/sql/<module>.h; sql/migrations/*.sql become one list in sql/migrations.h.
set(CIGRI_GENERATED ${CMAKE_BINARY_DIR}/generated)
file(GLOB cigri_sql_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/queries/*/*.sql
     ${CMAKE_SOURCE_DIR}/sql/migrations/*.sql)
# Named as byproducts, or a changed statement would only be compiled in by the build after next.
set(cigri_sql_headers ${CIGRI_GENERATED}/sql/migrations.h)
foreach(file ${cigri_sql_files})
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(module ${folder} NAME)
  if(NOT module STREQUAL "migrations")
    list(APPEND cigri_sql_headers ${CIGRI_GENERATED}/sql/${module}.h)
  endif()
endforeach()
list(REMOVE_DUPLICATES cigri_sql_headers)
add_custom_command(
  OUTPUT ${CIGRI_GENERATED}/sql/stamp
  BYPRODUCTS ${cigri_sql_headers}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}/sql -DOUT=${CIGRI_GENERATED}/sql
          -P ${CMAKE_SOURCE_DIR}/cmake/EmbedSql.cmake
  DEPENDS ${cigri_sql_files} ${CMAKE_SOURCE_DIR}/cmake/EmbedSql.cmake)
add_custom_target(cigri_sql_headers DEPENDS ${CIGRI_GENERATED}/sql/stamp)
add_library(cigri_sql INTERFACE)
target_include_directories(cigri_sql INTERFACE ${CIGRI_GENERATED})
add_dependencies(cigri_sql cigri_sql_headers)

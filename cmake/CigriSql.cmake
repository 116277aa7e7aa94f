# sql/queries/<module>/<statement>.sql becomes the constant cigri::sql::<module>::k<Statement> in
# build/generated/sql/<module>.h; sql/migrations/*.sql become one list in sql/migrations.h.
set(CIGRI_GENERATED ${CMAKE_BINARY_DIR}/generated)
file(GLOB cigri_sql_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/queries/*/*.sql
     ${CMAKE_SOURCE_DIR}/sql/migrations/*.sql)
add_custom_command(
  OUTPUT ${CIGRI_GENERATED}/sql/stamp
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}/sql -DOUT=${CIGRI_GENERATED}/sql
          -P ${CMAKE_SOURCE_DIR}/cmake/EmbedSql.cmake
  DEPENDS ${cigri_sql_files} ${CMAKE_SOURCE_DIR}/cmake/EmbedSql.cmake)
add_custom_target(cigri_sql_headers DEPENDS ${CIGRI_GENERATED}/sql/stamp)
add_library(cigri_sql INTERFACE)
target_include_directories(cigri_sql INTERFACE ${CIGRI_GENERATED})
add_dependencies(cigri_sql cigri_sql_headers)

# sql/queries/<subject>.sql becomes build/generated/sql/<subject>.h, sql/migrations/*.sql one list
# in sql/migrations.h (cmake/embed_sql.py).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(CIGRI_GENERATED ${CMAKE_BINARY_DIR}/generated)
file(GLOB cigri_queries CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/queries/*.sql)
file(GLOB cigri_migrations CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/migrations/*.sql)
# Named as byproducts, or a changed statement would only be compiled in by the build after next.
set(cigri_sql_headers ${CIGRI_GENERATED}/sql/migrations.h)
foreach(file ${cigri_queries})
  get_filename_component(subject ${file} NAME_WE)
  list(APPEND cigri_sql_headers ${CIGRI_GENERATED}/sql/${subject}.h)
endforeach()
add_custom_command(
  OUTPUT ${CIGRI_GENERATED}/sql/stamp
  BYPRODUCTS ${cigri_sql_headers}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/embed_sql.py ${CMAKE_SOURCE_DIR}/sql
          ${CIGRI_GENERATED}/sql
  DEPENDS ${cigri_queries} ${cigri_migrations} ${CMAKE_SOURCE_DIR}/cmake/embed_sql.py)
add_custom_target(cigri_sql_headers DEPENDS ${CIGRI_GENERATED}/sql/stamp)
add_library(cigri_sql INTERFACE)
target_include_directories(cigri_sql INTERFACE ${CIGRI_GENERATED})
add_dependencies(cigri_sql cigri_sql_headers)

#!/usr/bin/env python3
"""Writes the headers that cmake/CigriSql.cmake names from the statements in sql/.

embed_sql.py SQL_FOLDER OUTPUT_FOLDER

sql/queries/<subject>.sql holds statements:

    -- name: ClaimFresh
    -- returns: campaign_id int64, first_idx int64, n int64
    -- Takes the next $2[i] tasks of each campaign $1[i].
    WITH ... SELECT campaign_id, first_idx, n FROM ...

and becomes <subject>.h with struct ClaimFreshRow and the constant cigri::sql::kClaimFresh. Types
of columns: bool, int, int64, double, text, bytes, and arrays of int, int64, double, text
("int64[]"); "text?" may be NULL. A statement without `returns` has no rows. `-- plan: generic` has
PostgreSQL plan it once a session (src/db/db.cc). The types are held
against PostgreSQL by tests/db/statements_pgtest.cc. A header is written only when it changes.
"""
import hashlib
import pathlib
import re
import sys

TYPES = {"bool": "bool", "int": "int", "int64": "std::int64_t", "double": "double",
         "text": "std::string"}
KEYWORDS = {"class", "default", "new", "operator"}  # members get an underscore behind them
COLUMN = re.compile(r"^([a-z_][a-z0-9_]*) ([a-z0-9]+)(\[\]|\?)?$")


class Fault(Exception):
    pass


def member(where, text):
    """'n int64?' -> ('n', 'std::optional<std::int64_t>', how it is read)."""
    match = COLUMN.match(text.strip())
    if not match:
        raise Fault(f'{where}: "{text.strip()}" is not "name type"')
    name, base, suffix = match.groups()
    name += "_" if name in KEYWORDS else ""
    if base == "bytes" and not suffix:
        return name, "std::string", "reader.Bytes()"
    if base not in TYPES:
        raise Fault(f'{where}: unknown type "{base}"; there are {", ".join(TYPES)}, bytes')
    cpp = TYPES[base]
    if suffix == "[]":
        cpp = f"std::vector<{cpp}>"
    elif suffix == "?":
        cpp = f"std::optional<{cpp}>"
    return name, cpp, f"reader.Get<{cpp}>()"


def statements(path):
    """Yields (name, columns text, statement text, line) of one file."""
    name, returns, body, begin = None, [], [], 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("-- name: "):
            if name:
                yield name, ", ".join(returns), "\n".join(body), begin
            name, returns, body, begin = line[9:].strip(), [], [], number
            if not re.match(r"^[A-Z][A-Za-z0-9]*$", name):
                raise Fault(f"{path.name}:{number}: {name} is not a CamelCase name")
        elif line.startswith("-- returns: "):
            returns.append(line[12:].strip().rstrip(","))
        elif name:
            body.append(line)
    if name:
        yield name, ", ".join(returns), "\n".join(body), begin


def literal(sql):
    """As adjacent literals: one may be 64 kB at most."""
    return 'R"sql(' + sql.strip().replace("\n\n", '\n\n)sql" R"sql(') + ')sql"'


def queries_header(path, seen):
    out = [f"// Generated from sql/queries/{path.name}. Do not edit.", "#pragma once",
           "#include <optional>", "#include <string>", "#include <vector>", "",
           '#include "db/rows.h"', '#include "db/statement.h"', "", "namespace cigri::sql {"]
    for name, returns, sql, line in statements(path):
        where = f"sql/queries/{path.name}:{line}"
        if name in seen:
            raise Fault(f"{where}: {name} stands also in {seen[name]}")
        seen[name] = where
        plan = ", true" if "-- plan: generic" in sql.splitlines() else ""
        if not returns:
            out.append(f'inline const db::Command k{name}{{"{name}", {literal(sql)}{plan}}};')
            continue
        members = [member(where, column) for column in returns.split(",")]
        out.append(f"struct {name}Row {{")
        out += [f"  {cpp} {column};" for column, cpp, _ in members]
        out.append(f"  static {name}Row Read(db::RowReader& reader) {{")
        out.append("    return {" + ", ".join(read for _, _, read in members) + "};")
        out += ["  }", "  /// Calls f(name, value) for each column.",
                "  template <typename F>", "  void Each(F f) const {"]
        out += [f'    f("{column.rstrip("_")}", {column});' for column, _, _ in members]
        out += ["  }", "};"]
        out.append(f'inline const db::Query<{name}Row> k{name}{{"{name}", {literal(sql)}{plan}}};')
    return "\n".join(out + ["}  // namespace cigri::sql", ""])


def migrations_header(folder):
    out = ["// Generated from sql/migrations. Do not edit.", "#pragma once",
           '#include "db/statement.h"', "", "namespace cigri::sql {",
           "inline const db::Migration kMigrations[] = {"]
    for number, path in enumerate(sorted(folder.glob("*.sql")), 1):
        # Of two with one number the second would never be carried out.
        if int(path.stem[:4]) != number:
            sys.exit(f"{path}: this should be migration {number:04}")
        sql = path.read_text()
        checksum = hashlib.sha256(sql.encode()).hexdigest()
        out.append(f'    {{{int(path.stem[:4])}, "{path.stem}", "{checksum}", {literal(sql)}}},')
    return "\n".join(out + ["};", "}  // namespace cigri::sql", ""])


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    source, out = map(pathlib.Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    seen = {}
    for path in sorted((source / "queries").glob("*.sql")):
        write_if_changed(out / (path.stem + ".h"), queries_header(path, seen))
    write_if_changed(out / "migrations.h", migrations_header(source / "migrations"))
    (out / "stamp").write_text("")


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"embed_sql.py: {fault}")

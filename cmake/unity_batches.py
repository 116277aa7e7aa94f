"""Which source files may be compiled as one: unity_batches.py MOST FILE...

Prints "BATCH FILE" lines. Files of one batch are compiled as one text, so a name that one of them
keeps to itself (in an anonymous namespace) must not be declared by another or by its headers, unless
both make it an alias of the same type. Nor may one file call a function that another keeps to
itself: it would compile in the batch only. What looks like a clash and is none costs a smaller
batch, nothing more.
"""
import functools
import os
import re
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOISE = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|//[^\n]*|/\*.*?\*/',
                   re.S)


def headers_of(path, text):
    """Our headers that `text` of file `path` includes."""
    for name in re.findall(r'^\s*#include "([^"]+)"', text, re.M):
        for folder in (os.path.dirname(path), os.path.join(SOURCE, "src"), SOURCE):
            header = os.path.normpath(os.path.join(folder, name))
            if os.path.exists(header):
                yield header
                break


def declared(head):
    """The name that a declaration, up to its brace or semicolon, gives to something; or None."""
    head = re.sub(r"\btemplate\s*<[^<>]*(<[^<>]*>[^<>]*)*>", "", head).strip()
    if re.match(r"using\s+[\w:]+$|static_assert|TEST(_F|_P)?\s*\(|(struct|union|enum)?$", head):
        return None  # the same thing wherever it is said, a test, something without a name
    type_or_alias = re.match(r"(?:using|struct|class|union|enum(?:\s+class)?)\s+(\w+)", head)
    call = re.search(r"([A-Za-z_][\w:]*)\s*\(", head)
    value = re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?:=|$)", head)
    match = type_or_alias or (None if call and "=" in head[:call.start()] else call) or value
    return match.group(1) if match and "::" not in match.group(1) else None  # a member of a class


@functools.lru_cache(None)
def names_of(path):
    """The names that `path` declares outside classes and functions: (for all, in anonymous
    namespaces, by its headers and theirs)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    code = NOISE.sub(lambda noise: "" if noise[0].startswith("/") else '""',
                     re.sub(r"^\s*#.*$", "", text, flags=re.M))
    names = {"public": set(), "private": set()}
    scopes, head = [], ""
    for char in code:
        inside_namespaces = "other" not in scopes
        if char == "{":
            space = re.search(r"\bnamespace\s*([\w:]*)\s*$", head)
            if space:
                scopes.append("public" if space.group(1) else "private")
            else:
                if inside_namespaces:
                    names["private" if "private" in scopes else "public"].add(declared(head))
                scopes.append("other")
            head = ""
        elif char == "}":
            if scopes:
                scopes.pop()
            head = ""
        elif char == ";":
            if inside_namespaces:
                names["private" if "private" in scopes else "public"].add(declared(head))
            head = ""
        elif inside_namespaces:
            head += char
    included = set()
    for header in headers_of(path, text):
        public, _, below = names_of(header)
        included |= public | below
    return names["public"] - {None}, names["private"] - {None}, included


@functools.lru_cache(None)
def aliases_of(path):
    """The aliases that `path` gives, each with its type: those of two files do not clash when they
    are the same."""
    with open(path, encoding="utf-8") as file:
        return set(re.findall(r"^(?:using|namespace) (\w+) = ([^;]+);$", file.read(), re.M))


@functools.lru_cache(None)
def calls_of(path):
    """The functions, by our spelling, that `path` calls by their bare names and defines nowhere."""
    with open(path, encoding="utf-8") as file:
        code = NOISE.sub("", file.read())
    public, private, included = names_of(path)
    members = set(re.findall(r"::([A-Z]\w*)\(", code))
    return (set(re.findall(r"(?<![.>:\w])([A-Z]\w*)\(", code))
            - public - private - included - members)


def clash(one, other):
    public, private, included = names_of(one)
    public2, private2, included2 = names_of(other)
    same = {name for name, _ in aliases_of(one) & aliases_of(other)}
    return ((private & (public2 | private2 | included2) or private2 & (public | included)) - same
            or calls_of(one) & private2 or calls_of(other) & private)


def batches(most, files):
    made = []
    for file in files:
        for batch in made:
            if len(batch) < most and not any(clash(file, other) for other in batch):
                batch.append(file)
                break
        else:
            made.append([file])
    return made


if __name__ == "__main__":
    for number, batch in enumerate(batches(int(sys.argv[1]), sys.argv[2:])):
        for file in batch:
            print(number, file)

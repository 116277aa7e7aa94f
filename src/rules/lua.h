// Lua as Debian builds it for C++: errors are exceptions, so destructors run.
#pragma once
#include <lua.hpp>

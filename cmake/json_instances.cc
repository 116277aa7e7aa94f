// The code of nlohmann/json that cmake/pch.h keeps out of all other files.
#include <nlohmann/json.hpp>

CIGRI_JSON_INSTANCES()

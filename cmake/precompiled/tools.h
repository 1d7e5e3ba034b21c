// For the tools, which read and write files, JSON among them.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cmake/precompiled/core.h"

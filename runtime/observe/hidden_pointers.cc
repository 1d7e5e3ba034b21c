#include "runtime/observe/hidden_pointers.h"

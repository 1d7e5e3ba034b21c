// In which forms odd_walk is given an address: from a list, or drawn.
#ifndef VRAMSPAN_TESTS_ODD_FORMS_H_
#define VRAMSPAN_TESTS_ODD_FORMS_H_

#include <string>

#include "tests/odd/encoder.h"

namespace odd {

// One of docs/overlap.md and its like. REQUIRES: the address is a multiple of 8.
std::string ListedForm(Encoder* encoder, Word address);
// Forms within forms, at random.
std::string DrawnForm(Encoder* encoder, Word address);

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_FORMS_H_

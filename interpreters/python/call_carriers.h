// CPython's own functions that only carry a call from one Python function to the next.
//
// Up to 3.10 each call of a Python function goes through three or four of them; from 3.11 on those
// of classes, generators and operators still do. Functions that are written in C and that Python
// calls are none of these, nor is what they call back with: `map` and `sorted` stay.
#ifndef STACKRAY_INTERPRETERS_PYTHON_CALL_CARRIERS_H_
#define STACKRAY_INTERPRETERS_PYTHON_CALL_CARRIERS_H_

#include <string_view>

namespace stackray {

// By the name of its symbol, with a compiler's ending (".part.0", ".cold") or without.
bool IsCallCarrier(std::string_view symbol);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PYTHON_CALL_CARRIERS_H_

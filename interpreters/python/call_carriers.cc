#include "interpreters/python/call_carriers.h"

#include <algorithm>
#include <iterator>

namespace stackray {
namespace {

// Of 3.6 to 3.15 (Objects/call.c, Objects/classobject.c, Objects/genobject.c, Objects/abstract.c,
// Objects/object.c, Objects/typeobject.c, Python/ceval.c). Ascending.
constexpr std::string_view kCarriers[] = {"PyEval_EvalCodeEx",
                                          "PyEval_EvalFrame",
                                          "PyIter_Send",
                                          "PyObject_Call",
                                          "PyObject_DelItem",
                                          "PyObject_GenericGetAttr",
                                          "PyObject_GetAttr",
                                          "PyObject_GetItem",
                                          "PyObject_GetIter",
                                          "PyObject_IsTrue",
                                          "PyObject_RichCompare",
                                          "PyObject_RichCompareBool",
                                          "PyObject_SetAttr",
                                          "PyObject_SetItem",
                                          "PyObject_Size",
                                          "PyObject_Vectorcall",
                                          "PyObject_VectorcallDict",
                                          "PySequence_Contains",
                                          "PyVectorcall_Call",
                                          "_PyEval_EvalCode",
                                          "_PyEval_EvalCodeWithName",
                                          "_PyEval_EvalFrame",
                                          "_PyEval_Vector",
                                          "_PyFunction_FastCall",
                                          "_PyFunction_FastCallDict",
                                          "_PyFunction_FastCallKeywords",
                                          "_PyFunction_Vectorcall",
                                          "_PyGen_Send",
                                          "_PyObject_Call",
                                          "_PyObject_Call_Prepend",
                                          "_PyObject_FastCallDict",
                                          "_PyObject_FastCallDictTstate",
                                          "_PyObject_FastCallKeywords",
                                          "_PyObject_GenericGetAttrWithDict",
                                          "_PyObject_MakeTpCall",
                                          "_PyObject_Vectorcall",
                                          "_PyObject_VectorcallTstate",
                                          "_PyVectorcall_Call",
                                          "binary_iop",
                                          "binary_iop1",
                                          "binary_op",
                                          "binary_op1",
                                          "call_attribute",
                                          "call_function",
                                          "call_maybe",
                                          "call_method",
                                          "call_unbound",
                                          "call_unbound_noarg",
                                          "do_call_core",
                                          "do_richcompare",
                                          "ext_do_call",
                                          "fast_function",
                                          "function_call",
                                          "function_code_fastcall",
                                          "gen_am_send",
                                          "gen_iternext",
                                          "gen_send_ex",
                                          "gen_send_ex2",
                                          "lookup_maybe_method",
                                          "method_call",
                                          "method_vectorcall",
                                          "property_descr_get",
                                          "property_descr_set",
                                          "ternary_op",
                                          "trace_call_function",
                                          "type_call",
                                          "vectorcall_maybe",
                                          "vectorcall_method",
                                          "vectorcall_unbound"};
// Operators and methods of a class that are Python functions, and arithmetic on the way to them
// (Objects/typeobject.c, Objects/abstract.c).
constexpr std::string_view kBeginnings[] = {"slot_nb_", "slot_sq_", "slot_mp_",
                                            "slot_tp_", "slot_am_", "PyNumber_"};

}  // namespace

bool IsCallCarrier(std::string_view symbol) {
  const std::string_view name = symbol.substr(0, symbol.find('.'));
  return std::binary_search(std::begin(kCarriers), std::end(kCarriers), name) ||
         std::ranges::any_of(kBeginnings,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace stackray

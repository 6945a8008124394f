// Names of methods as the people know them who write the JVM's other languages: a compiler of such
// a language mangles what Java has no names for.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_LANGUAGE_NAMES_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_LANGUAGE_NAMES_H_

#include <string>
#include <string_view>

namespace stackray::hotspot {

// `class_text`: with dots between packages; `file`: as the class names its source file, which tells
// the language.
//   Clojure  "user$run_all_BANG_", "invokeStatic" is "user/run-all!" (clojure.lang.Compiler.munge)
//   Scala    "shop.Cart$", "$plus$plus" is "shop.Cart.++" (scala.reflect.NameTransformer)
//   others   "shop.Cart", "add" is "shop.Cart.add"
// Without counters (below).
std::string FunctionText(std::string_view class_text, std::string_view method,
                         std::string_view file);

// A class's name without the numbers that differ in each run, so that two profiles meet:
// "Main$$Lambda$14" (JDK 8 to 20) is "Main$$Lambda", and "Script12" of Groovy's "Script12.groovy"
// is "Script". The latter's file, too.
std::string WithoutCounters(std::string_view class_text, std::string_view file);
std::string FileWithoutCounter(std::string_view file);

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_LANGUAGE_NAMES_H_

fn main() {
    custom_labels::build::emit_build_instructions();
    println!("cargo:rustc-link-arg=-Wl,--export-dynamic-symbol=otel_thread_ctx_v1");
}

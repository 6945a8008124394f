//! Records of OTEP 4947 by Datadog's crates: otel SECONDS LOG.
use libdd_library_config::otel_process_ctx::publish;
use libdd_library_config::tracer_metadata::{ThreadLocalMetadata, TracerMetadata};
use libdd_otel_thread_ctx::linux::OwnedThreadContext;

fn main() {
    let metadata = TracerMetadata {
        tracer_language: "rust".into(),
        service_name: Some("writer".into()),
        threadlocal_metadata: Some(ThreadLocalMetadata {
            attribute_keys: vec!["route".into()],
            ..Default::default()
        }),
        ..Default::default()
    };
    publish(&metadata.to_otel_process_ctx()).unwrap();
    writers::run(|log, request| {
        let labels = [(1, request.route.as_str())];
        OwnedThreadContext::new(request.trace, request.span, 1, request.span, &labels).attach();
        writers::work(log, request);
        drop(OwnedThreadContext::detach());
    });
}

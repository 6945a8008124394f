//! Labels of Polar Signals' crate, the ids among them: labels SECONDS LOG.
use custom_labels::with_labels;

fn main() {
    writers::run(|log, request| {
        let (trace, span) = (writers::hex(&request.trace), writers::hex(&request.span));
        let labels =
            [("trace_id", &trace), ("span_id", &span), ("route", &request.route)];
        with_labels(labels, || writers::work(log, request));
    });
}

//! Threads that serve requests, and the log that the judge reads (judge.py).
use std::fmt::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const THREADS: u64 = 3;
const REQUEST: Duration = Duration::from_millis(6);
const GAP: Duration = Duration::from_millis(2);

pub struct Request {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub route: String,
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()
}

fn burn(time: Duration) -> u64 {
    let (end, mut number) = (Instant::now() + time, 1u64);
    while Instant::now() < end {
        for _ in 0..2000 {
            number = std::hint::black_box(number.wrapping_mul(6364136223846793005).wrapping_add(1));
        }
    }
    number
}

/// What surely lies inside the request, as a line of the log.
pub fn work(log: &mut String, request: &Request) {
    let begin = now();
    burn(REQUEST);
    let (trace, span) = (hex(&request.trace), hex(&request.span));
    let tid = unsafe { libc::gettid() };
    writeln!(log, "{tid} {begin} {} {trace} {span} {}", now(), request.route).unwrap();
}

/// The program's two arguments are SECONDS and LOG. `serve` calls work() with the request attached.
pub fn run(serve: impl Fn(&mut String, &Request) + Copy + Send + 'static) {
    let words: Vec<String> = std::env::args().collect();
    let end = Instant::now() + Duration::from_secs_f64(words[1].parse().unwrap());
    let threads: Vec<_> = (0..THREADS)
        .map(|worker| {
            std::thread::spawn(move || {
                let mut log = String::new();
                for count in 1u64.. {
                    if Instant::now() >= end {
                        break;
                    }
                    let mut trace = [0xab; 16];
                    trace[..8].copy_from_slice(&(worker + 1).to_be_bytes());
                    trace[8..].copy_from_slice(&count.to_be_bytes());
                    let span = (count << 8 | (worker + 1)).to_be_bytes();
                    serve(&mut log, &Request { trace, span, route: format!("/item/{}", count % 5) });
                    let begin = now();
                    burn(GAP);
                    writeln!(log, "{} {begin} {} - -", unsafe { libc::gettid() }, now()).unwrap();
                }
                log
            })
        })
        .collect();
    let log: String = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    std::fs::write(&words[2], log).unwrap();
}

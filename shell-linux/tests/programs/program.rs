//! The program of `embedder`.

use std::error::Error;
use std::process::Command;
use std::{env, thread};

use evserver_linux::{ListenOptions, Next, Options, Protocol, Reply, Settings, Signals, StopHandle, listen, serve};

struct Children;

impl Protocol for Children {
    fn room(&self, _: usize) -> usize {
        32
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        answer("ready\n", reply)
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        match line {
            b"child" => match Signals::let_through(Command::new("sleep").arg("60")).spawn() {
                Ok(child) => answer(&format!("{}\n", child.id()), reply),
                Err(_) => Next::Close,
            },
            b"panic" => panic!("asked to"),
            _ => answer("?\n", reply),
        }
    }
}

fn answer(text: &str, reply: &mut Reply<'_>) -> Next {
    match reply.put(text.as_bytes()) {
        Ok(()) => Next::Line,
        Err(_) => Next::Close,
    }
}

/// Serves until it is stopped.
pub fn run() -> Result<(), Box<dyn Error>> {
    let own_handler = env::args().any(|argument| argument == "--handler");
    let stop = StopHandle::new()?;
    let signals = if own_handler {
        crate::sys::drain_on_sigterm(stop.clone());
        None
    } else {
        Some(Signals::block()?)
    };
    for _ in 0..4 {
        // Other work of the program; a signal may hit any of these threads.
        thread::spawn(|| {
            loop {
                thread::park();
            }
        });
    }
    let listeners = listen(&["127.0.0.1:0".parse()?], &ListenOptions::default())?;
    for listening in &listeners {
        println!("listening on {}", listening.address);
    }
    let settings = Settings { drain_ms: 5000, ..Settings::default() };
    let report =
        serve(listeners, Options { settings, stop: Some(stop), signals, ..Options::default() }, |_| Children)?;
    println!("{report}");
    println!("blocked {:?}", crate::sys::blocked_signals());
    Ok(())
}

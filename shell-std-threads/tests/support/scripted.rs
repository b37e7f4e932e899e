//! A protocol that does what the lines say and tells the test what happens, and a server of it.

use std::sync::mpsc::{self, Receiver, Sender};

use evserver_core::{CloseReason, Ticket, Token};
use evserver_threads::{Handle, Limits, Next, Options, Peer, Protocol, Reply, Settings};

use super::{Client, LONG, LONG_MS, Running};

/// Tells the test its token, and does what the line says.
pub struct Scripted {
    handle: Handle<Scripted>,
    tell: Sender<Told>,
    answer: Option<String>,
    listing: u32,
}

/// What the test hears of a connection.
#[derive(Debug)]
pub enum Told {
    Opened(Token),
    Waits(Ticket),
    Closed(CloseReason),
}

impl Protocol for Scripted {
    fn room(&self, len: usize) -> usize {
        len + 64
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        self.tell.send(Told::Opened(reply.token())).unwrap();
        say(reply, "hello\n")
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        let words = String::from_utf8_lossy(line).into_owned();
        match words.split_whitespace().collect::<Vec<_>>()[..] {
            ["later", ms] => {
                let ticket = reply.ticket(ms.parse().unwrap());
                self.tell.send(Told::Waits(ticket)).unwrap();
                Next::Later(ticket)
            }
            ["timer", ms] => {
                reply.set_timer(ms.parse().unwrap());
                say(reply, "set\n")
            }
            ["tell", token, ref rest @ ..] => {
                let text = format!("{}\n", rest.join(" "));
                self.handle.push(Token::from_bits(token.parse().unwrap()), text.into_bytes());
                say(reply, "told\n")
            }
            // More than any buffer holds, in pieces.
            ["list", count] => {
                while self.listing < count.parse().unwrap() {
                    if reply.put(format!("item {}\n", self.listing).as_bytes()).is_err() {
                        return Next::More;
                    }
                    self.listing += 1;
                }
                self.listing = 0;
                Next::Line
            }
            ["close", "when", "missed"] => {
                self.answer = Some("close".to_owned());
                say(reply, "will\n")
            }
            ["panic"] => panic!("asked to"),
            _ => say(reply, &format!("{words}?\n")),
        }
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        let answer = self.answer.take().unwrap();
        say(reply, &format!("answer {answer}\n"))
    }

    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        say(reply, "no answer\n")
    }

    fn timer(&mut self, reply: &mut Reply<'_>) -> Next {
        say(reply, "time\n")
    }

    fn missed(&mut self, pushes: u32, reply: &mut Reply<'_>) -> Next {
        reply.set_timer(50);
        match self.answer.take().as_deref() {
            Some("close") => {
                let _ = say(reply, "enough\n");
                Next::Close
            }
            _ => say(reply, if pushes > 0 { "missed some\n" } else { "missed none\n" }),
        }
    }

    fn closed(&mut self, reason: CloseReason) {
        // The test may be over.
        let _ = self.tell.send(Told::Closed(reason));
    }
}

pub fn say(reply: &mut Reply<'_>, text: &str) -> Next {
    match reply.put(text.as_bytes()) {
        Ok(()) => Next::Line,
        Err(_) => Next::Close,
    }
}

pub struct Test {
    pub server: Running,
    pub told: Receiver<Told>,
    handles: Receiver<Handle<Scripted>>,
}

impl Test {
    pub fn start(drain_ms: u32, limits: Limits) -> Self {
        let (tell, told) = mpsc::channel();
        let (give, handles) = mpsc::channel();
        let make = move |peer: &Peer<Scripted>| {
            give.send(peer.handle.clone()).unwrap();
            Scripted { handle: peer.handle.clone(), tell: tell.clone(), answer: None, listing: 0 }
        };
        let settings = Settings { drain_ms, limits, ..Settings::default() };
        Self { server: Running::start(Options { settings, ..Options::default() }, make), told, handles }
    }

    pub fn new() -> Self {
        Self::start(LONG_MS, Limits::new())
    }

    pub fn client(&self) -> (Client, Token, Handle<Scripted>) {
        let mut client = self.server.connect();
        client.expect("hello\n");
        let Told::Opened(token) = self.told() else { panic!("it did not open") };
        (client, token, self.handles.recv_timeout(LONG).unwrap())
    }

    pub fn told(&self) -> Told {
        self.told.recv_timeout(LONG).unwrap()
    }

    pub fn ticket(&self) -> Ticket {
        match self.told() {
            Told::Waits(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    pub fn reason(&self) -> CloseReason {
        match self.told() {
            Told::Closed(reason) => reason,
            other => panic!("{other:?}"),
        }
    }
}

/// Pushes and says whether it was taken.
pub fn push(handle: &Handle<Scripted>, token: Token, text: &str) -> bool {
    let (say, heard) = mpsc::channel();
    handle.push_or(token, text.as_bytes(), move |taken| say.send(taken).unwrap());
    heard.recv_timeout(LONG).unwrap()
}

pub fn complete(handle: &Handle<Scripted>, ticket: Ticket, answer: &str) {
    let answer = answer.to_owned();
    handle.complete(ticket, move |protocol| protocol.answer = Some(answer));
}

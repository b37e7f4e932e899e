//! Takes mail by SMTP and keeps it in memory: enough of RFC 5321 for any client that sends.
//!
//! Lines end with CR LF and with nothing else. An LF without its CR, or a CR within a line, is answered with 521 and the
//! connection is closed: two servers could see different ends of a mail there, and one of them would take what follows
//! for another mail, which is how mails are smuggled. Nothing behind such a line is looked at.
//!
//! A text larger than [`MAIL_BYTES`], or with a line longer than the buffer, is read to its end and refused there. Memory
//! follows what has arrived. Commands may be pipelined.

mod command;
mod sink;

use std::sync::Arc;

use evserver_core::{LineEnd, Next, Protocol, Reply};

use command::{Command, Mistake};
pub use sink::{KEPT_BYTES, KEPT_MAILS, Mail, Sink};

/// The largest text of a mail, in bytes, as SIZE says it.
pub const MAIL_BYTES: usize = 10 * 1024 * 1024;

/// Recipients of a mail; more are told to wait for the next one, as RFC 5321, 4.5.3.1.8 says.
pub const RECIPIENTS: usize = 100;

/// Room for the longest reply.
const ROOM: usize = 128;

const BARE: &[u8] = b"521 5.5.2 a line ends with CR LF and has no CR or LF in it\r\n";

/// One connection.
#[derive(Debug)]
pub struct SmtpSink {
    sink: Arc<Sink>,
    greeted: bool,
    /// The sender, once MAIL was taken.
    from: Option<Box<[u8]>>,
    to: Vec<Box<[u8]>>,
    /// The text that is coming, once DATA was taken.
    text: Option<Text>,
}

/// The text of a mail, as far as it has come.
#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    /// Why it will be refused at its end.
    refused: Option<&'static [u8]>,
}

impl Text {
    fn refuse(&mut self, why: &'static [u8]) {
        self.refused = Some(why);
        self.bytes = Vec::new();
    }

    fn push(&mut self, line: &[u8]) {
        if self.refused.is_some() {
            return;
        }
        // RFC 5321, 4.5.2: the first dot of a line that has one was added for the transfer.
        let line = line.strip_prefix(b".").unwrap_or(line);
        if self.bytes.len() + line.len() + 2 > MAIL_BYTES {
            return self.refuse(b"552 5.3.4 the mail is too large\r\n");
        }
        self.bytes.extend_from_slice(line);
        self.bytes.extend_from_slice(b"\r\n");
    }
}

impl SmtpSink {
    /// A connection that puts its mails into this sink.
    pub fn new(sink: Arc<Sink>) -> Self {
        Self { sink, greeted: false, from: None, to: Vec::new(), text: None }
    }

    /// Forgets the mail that was being made.
    fn reset(&mut self) {
        self.from = None;
        self.to = Vec::new();
        self.text = None;
    }

    /// Carries out a command; says what to reply.
    fn command(&mut self, command: Command<'_>) -> &'static [u8] {
        match command {
            Command::Ehlo | Command::Helo => {
                self.reset();
                self.greeted = true;
                match command {
                    Command::Ehlo => b"250-localhost\r\n250-SIZE 10485760\r\n250-8BITMIME\r\n250 PIPELINING\r\n",
                    _ => b"250 localhost\r\n",
                }
            }
            Command::Mail(..) if !self.greeted => b"503 5.5.1 say EHLO first\r\n",
            Command::Mail(..) if self.from.is_some() => b"503 5.5.1 there is a sender already\r\n",
            Command::Mail(_, Some(bytes)) if bytes > MAIL_BYTES as u64 => b"552 5.3.4 the mail is too large\r\n",
            Command::Mail(from, _) => {
                self.from = Some(from.into());
                b"250 2.1.0 ok\r\n"
            }
            Command::Rcpt(_) | Command::Data if self.from.is_none() => b"503 5.5.1 say MAIL first\r\n",
            Command::Rcpt(_) if self.to.len() == RECIPIENTS => b"452 4.5.3 too many recipients\r\n",
            Command::Rcpt(to) => {
                self.to.push(to.into());
                b"250 2.1.5 ok\r\n"
            }
            Command::Data if self.to.is_empty() => b"503 5.5.1 say RCPT first\r\n",
            Command::Data => {
                self.text = Some(Text::default());
                b"354 end it with a dot on a line of its own\r\n"
            }
            Command::Rset => {
                self.reset();
                b"250 2.0.0 ok\r\n"
            }
            Command::Noop => b"250 2.0.0 ok\r\n",
            Command::Vrfy => b"252 2.5.0 send it and see\r\n",
            Command::Quit => b"221 2.0.0 bye\r\n",
        }
    }

    /// The text is whole; says what to reply.
    fn end_of_text(&mut self, text: Text) -> &'static [u8] {
        let (from, to) = (self.from.take().unwrap_or_default(), std::mem::take(&mut self.to));
        match text.refused {
            Some(why) => why,
            None => {
                self.sink.take(Mail { from, to, text: text.bytes });
                b"250 2.0.0 taken\r\n"
            }
        }
    }
}

/// Writes a whole reply; there is room for it.
fn say(text: &[u8], next: Next, reply: &mut Reply<'_>) -> Next {
    reply.put(text).map_or(Next::Close, |()| next)
}

impl Protocol for SmtpSink {
    const LINE_END: LineEnd = LineEnd::CrLf;

    fn room(&self, len: usize) -> usize {
        // A line of text is answered only when it is a dot, or has a CR in it.
        if self.text.is_some() && len > 1 { BARE.len() } else { ROOM }
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        say(b"220 localhost takes mail and keeps it to itself\r\n", Next::Line, reply)
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        if line.contains(&b'\r') {
            return say(BARE, Next::Close, reply);
        }
        if let Some(mut text) = self.text.take() {
            if line == b"." {
                let answer = self.end_of_text(text);
                return say(answer, Next::Line, reply);
            }
            text.push(line);
            self.text = Some(text);
            return Next::Line;
        }
        match Command::parse(line) {
            Ok(command) => {
                let next = if command == Command::Quit { Next::Close } else { Next::Line };
                say(self.command(command), next, reply)
            }
            Err(Mistake::Unknown) => say(b"500 5.5.1 no such command\r\n", Next::Line, reply),
            Err(Mistake::Arguments) => say(b"501 5.5.4 that makes no sense\r\n", Next::Line, reply),
            Err(Mistake::Parameter) => say(b"555 5.5.4 no such parameter\r\n", Next::Line, reply),
        }
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        match &mut self.text {
            Some(text) => {
                text.refuse(b"550 5.6.0 a line of the mail is too long\r\n");
                Next::Line
            }
            None => say(b"500 5.5.2 the line is too long\r\n", Next::Line, reply),
        }
    }

    fn bare_newline(&mut self, reply: &mut Reply<'_>) -> Next {
        say(BARE, Next::Close, reply)
    }
}

#[cfg(test)]
mod tests;

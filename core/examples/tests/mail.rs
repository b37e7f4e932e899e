//! `smtp-sink` under clients that send mail, on every shell.

mod tools;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use evserver_examples::smtp_sink::{Mail, Sink, SmtpSink};

use tools::{client, connect, run, serving, shells, text};

/// Serves a fresh sink on every shell that runs here, with one loop and with several; the mails that came are checked.
fn everywhere(talk: impl Fn(SocketAddr), check: impl Fn(&[Arc<Mail>])) {
    for &shell in shells() {
        for loops in [1, 3] {
            let sink = Arc::new(Sink::default());
            serving(shell, loops, |_| SmtpSink::new(Arc::clone(&sink)), &talk);
            check(&sink.mails());
        }
    }
}

#[test]
fn swaks_sends_a_mail() {
    if client("swaks").is_none() {
        return;
    }
    everywhere(
        |address| {
            let mut swaks = Command::new("swaks");
            swaks.args(["--server", &address.ip().to_string(), "--port", &address.port().to_string()]);
            swaks.args(["--helo", "client.example", "--from", "from@client.example"]);
            swaks.args(["--to", "one@example.org,two@example.org", "--header", "Subject: a test"]);
            swaks.args(["--body", "first line\n.second, with a dot\n..\n.\nlast line"]);
            let said = text(&run(&mut swaks, b""));
            assert!(said.contains("250 2.0.0 taken") && said.contains("221 2.0.0 bye"), "{said}");
        },
        |mails| {
            let [mail] = mails else { panic!("{} mails", mails.len()) };
            assert_eq!(&*mail.from, b"from@client.example");
            assert_eq!(mail.to, [b"one@example.org"[..].into(), b"two@example.org"[..].into()]);
            let said = String::from_utf8_lossy(&mail.text);
            assert!(said.contains("Subject: a test\r\n"), "{said}");
            assert!(
                said.contains("\r\n\r\nfirst line\r\n.second, with a dot\r\n..\r\n.\r\nlast line\r\n"),
                "{said}"
            );
        },
    );
}

/// Sends three mails over one connection, one of them large; has a fourth refused for its size before it is sent.
const SMTPLIB: &str = r#"
import smtplib, sys
server = smtplib.SMTP("127.0.0.1", int(sys.argv[1]), local_hostname="client.example", timeout=100)
code, offers = server.ehlo()
assert code == 250 and server.has_extn("size") and server.has_extn("8bitmime") and server.has_extn("pipelining")
assert server.sendmail("a@client.example", ["b@example.org"], "Subject: one\n\n.\n..dots\nend\n") == {}
large = "Subject: two\n\n" + "".join("%d %s\n" % (n, "x" * (n % 900)) for n in range(2000))
assert server.sendmail("a@client.example", ["b@example.org", "c@example.org"], large) == {}
assert server.sendmail("", ["b@example.org"], b"Subject: \xc3\xa4\r\n\r\nno line end", mail_options=["BODY=8BITMIME"]) == {}
try:
    server.sendmail("a@client.example", ["b@example.org"], "x" * 10485761)
    sys.exit("a mail that is too large was taken")
except smtplib.SMTPSenderRefused as refused:
    assert refused.smtp_code == 552
assert server.verify("b")[0] == 252
assert server.docmd("VRFY")[0] == 501
assert server.noop()[0] == 250 and server.rset()[0] == 250
assert server.docmd("MAIL", "FROM:<a b@example.org>")[0] == 501
assert server.quit()[0] == 221
"#;

#[test]
fn smtplib_sends_mails() {
    if client("python3").is_none() {
        return;
    }
    everywhere(
        |address| {
            run(Command::new("python3").args(["-c", SMTPLIB, &address.port().to_string()]), b"");
        },
        |mails| {
            let [first, second, third] = mails else { panic!("{} mails", mails.len()) };
            assert_eq!(first.text, b"Subject: one\r\n\r\n.\r\n..dots\r\nend\r\n");
            assert_eq!((second.to.len(), &second.text[..14]), (2, &b"Subject: two\r\n"[..]));
            assert_eq!(second.text.iter().filter(|&&byte| byte == b'\n').count(), 2002);
            assert!(third.from.is_empty());
            assert_eq!(third.text, b"Subject: \xc3\xa4\r\n\r\nno line end\r\n");
        },
    );
}

/// How mails are smuggled past a server that sees no end of the mail where the next one sees it.
#[test]
fn a_smuggled_mail_is_refused() {
    let begin = b"EHLO me\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nfirst";
    let smuggled = b"MAIL FROM:<x@y>\r\nRCPT TO:<c@d>\r\nDATA\r\nsecond\r\n.\r\n";
    everywhere(
        |address| {
            for end in [&b"\n.\r\n"[..], b"\n.\n", b"\r\n.\n", b"\r.\r", b"\r\n.\r"] {
                let mut stream = connect(address);
                stream.write_all(&[begin, end, smuggled].concat()).unwrap();
                let mut said = String::new();
                stream.read_to_string(&mut said).expect("a clean end, whatever is still on its way");
                assert!(said.ends_with("354 end it with a dot on a line of its own\r\n521 5.5.2 a line ends with CR LF and has no CR or LF in it\r\n"), "{said}");
            }
        },
        |mails| assert!(mails.is_empty()),
    );
}

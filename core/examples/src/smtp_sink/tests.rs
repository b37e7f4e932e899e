//! Conversations as bytes, in every way in which they could be cut.

use evserver_core::testing::{Conversation, Cuts, Way};

use super::*;

const HELLO: &str = "220 localhost takes mail and keeps it to itself\r\n";
const OFFERS: &str = "250-localhost\r\n250-SIZE 10485760\r\n250-8BITMIME\r\n250 PIPELINING\r\n";

/// Replays it in every way and a thousand at random; the mails of the last replay are returned.
#[track_caller]
fn mails(input: &str, output: &str) -> Vec<Arc<Mail>> {
    let output = format!("{HELLO}{output}");
    let mut sink = Arc::new(Sink::default());
    let fresh = || {
        sink = Arc::default();
        SmtpSink::new(Arc::clone(&sink))
    };
    let talk = Conversation::new(input.as_bytes(), output.as_bytes()).random_cuts(1000);
    if let Err(difference) = talk.check(fresh) {
        panic!("{difference}");
    }
    sink.mails()
}

#[test]
fn a_mail_is_taken() {
    let taken = mails(
        "EHLO me\r\nMAIL FROM:<a@b> SIZE=30\r\nRCPT TO:<c@d>\r\nRCPT TO:<e@f>\r\nDATA\r\n\
         Subject: x\r\n\r\n..dot\r\n.\u{e4}\r\n. \r\n.\r\nQUIT\r\nNOOP\r\n",
        &format!(
            "{OFFERS}250 2.1.0 ok\r\n250 2.1.5 ok\r\n250 2.1.5 ok\r\n354 end it with a dot on a line of its own\r\n\
             250 2.0.0 taken\r\n221 2.0.0 bye\r\n"
        ),
    );
    let expected = Mail {
        from: b"a@b"[..].into(),
        to: vec![b"c@d"[..].into(), b"e@f"[..].into()],
        text: "Subject: x\r\n\r\n.dot\r\n\u{e4}\r\n \r\n".as_bytes().to_vec(),
    };
    assert_eq!(taken, [Arc::new(expected)]);
}

#[test]
fn several_mails_go_over_one_connection_and_none_over_a_half_one() {
    let mail = "MAIL FROM:<>\r\nRCPT TO:<c@d>\r\nDATA\r\nx\r\n.\r\n";
    let ok = "250 2.1.0 ok\r\n250 2.1.5 ok\r\n354 end it with a dot on a line of its own\r\n";
    let taken = mails(
        &format!("HELO me\r\n{mail}{mail}MAIL FROM:<>\r\nRCPT TO:<c@d>\r\nDATA\r\nhalf a mail\r\n"),
        &format!("250 localhost\r\n{ok}250 2.0.0 taken\r\n{ok}250 2.0.0 taken\r\n{ok}"),
    );
    assert_eq!(taken.len(), 2);
    assert!(taken[0].from.is_empty() && taken[0].text == b"x\r\n");
}

#[test]
fn commands_out_of_order_and_mistakes_are_answered() {
    let taken = mails(
        "MAIL FROM:<a@b>\r\nEHLO me\r\nDATA\r\nRCPT TO:<c@d>\r\nMAIL FROM:<a@b>\r\nMAIL FROM:<a@b>\r\nDATA\r\nRSET\r\n\
         RCPT TO:<c@d>\r\nMAIL FROM:<a@b> SIZE=10485761\r\nVRFY me\r\nNOOP\r\nSTARTTLS\r\nRCPT c@d\r\n\
         MAIL FROM:<a@b> X=1\r\n\r\n",
        &format!(
            "503 5.5.1 say EHLO first\r\n{OFFERS}503 5.5.1 say MAIL first\r\n503 5.5.1 say MAIL first\r\n250 2.1.0 ok\r\n\
             503 5.5.1 there is a sender already\r\n503 5.5.1 say RCPT first\r\n250 2.0.0 ok\r\n\
             503 5.5.1 say MAIL first\r\n552 5.3.4 the mail is too large\r\n252 2.5.0 send it and see\r\n\
             250 2.0.0 ok\r\n500 5.5.1 no such command\r\n501 5.5.4 that makes no sense\r\n\
             555 5.5.4 no such parameter\r\n500 5.5.1 no such command\r\n"
        ),
    );
    assert!(taken.is_empty());
}

/// How mails are smuggled: the end of the text in a form that one server honours and the next does not.
#[test]
fn a_line_end_that_is_not_cr_lf_ends_the_connection() {
    let begin = "EHLO me\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nfirst\r\n";
    let began = format!(
        "{OFFERS}250 2.1.0 ok\r\n250 2.1.5 ok\r\n354 end it with a dot on a line of its own\r\n{}",
        std::str::from_utf8(BARE).unwrap()
    );
    let smuggled = "MAIL FROM:<x@y>\r\nRCPT TO:<c@d>\r\nDATA\r\nsecond\r\n.\r\n";
    for end in ["\n.\r\n", "\n.\n", "\r\n.\n", ".\n", "\r.\r\n", "x\r.\r\n", "\r\r\n", "\r.\r", "x\n"] {
        let taken = mails(&format!("{begin}{end}{smuggled}"), &began);
        assert!(taken.is_empty(), "{}", end.escape_debug());
    }
    for command in ["NOOP\n", "NO\rOP\r\n", "\n"] {
        let taken = mails(&format!("{command}{smuggled}"), std::str::from_utf8(BARE).unwrap());
        assert!(taken.is_empty());
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_once_and_its_rest_is_no_line() {
    // What would be a bare LF and a command is a part of that line.
    let long = format!("{}\nQUIT\n.\n", "x".repeat(5000));
    let input = format!("EHLO me\r\n{long}\r\nNOOP\r\n");
    let output = format!("{HELLO}{OFFERS}500 5.5.2 the line is too long\r\n250 2.0.0 ok\r\n");
    some_ways(&input, &output);
    let input = format!("EHLO me\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nx\r\n{long}\r\ny\r\n.\r\nNOOP\r\n");
    let output = format!(
        "{HELLO}{OFFERS}250 2.1.0 ok\r\n250 2.1.5 ok\r\n354 end it with a dot on a line of its own\r\n\
         550 5.6.0 a line of the mail is too long\r\n250 2.0.0 ok\r\n"
    );
    assert_eq!(some_ways(&input, &output), 0);
}

#[test]
fn a_mail_that_is_too_large_is_refused_at_its_end() {
    let begin = "EHLO me\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\n";
    let line = format!("{}\r\n", "x".repeat(1022));
    let began =
        format!("{HELLO}{OFFERS}250 2.1.0 ok\r\n250 2.1.5 ok\r\n354 end it with a dot on a line of its own\r\n");
    for (lines, answer, taken) in [
        (MAIL_BYTES / 1024, "250 2.0.0 taken\r\n", 1),
        (MAIL_BYTES / 1024 + 1, "552 5.3.4 the mail is too large\r\n", 0),
    ] {
        let sink = Arc::new(Sink::default());
        let input = format!("{begin}{}.\r\nNOOP\r\n", line.repeat(lines));
        let output = format!("{began}{answer}250 2.0.0 ok\r\n");
        let talk = Conversation::new(input.as_bytes(), output.as_bytes());
        let way = Way { cuts: Cuts::Random(7), write: usize::MAX };
        let reason = talk.replay::<_, 4096>(way, SmtpSink::new(Arc::clone(&sink)), |_| {});
        assert_eq!(reason, Ok(evserver_core::CloseReason::PeerEnd));
        assert_eq!(sink.taken(), taken);
    }
}

#[test]
fn recipients_are_bounded() {
    let input = format!("HELO me\r\nMAIL FROM:<a@b>\r\n{}", "RCPT TO:<c@d>\r\n".repeat(RECIPIENTS + 2));
    let output = format!(
        "{HELLO}250 localhost\r\n250 2.1.0 ok\r\n{}{}",
        "250 2.1.5 ok\r\n".repeat(RECIPIENTS),
        "452 4.5.3 too many recipients\r\n".repeat(2)
    );
    some_ways(&input, &output);
}

/// For what is too long for every way. Says how many mails the last replay brought.
#[track_caller]
fn some_ways(input: &str, output: &str) -> u64 {
    let talk = Conversation::new(input.as_bytes(), output.as_bytes());
    let mut taken = 0;
    for cuts in [Cuts::Whole, Cuts::Every(1)].into_iter().chain((0..100).map(Cuts::Random)) {
        let sink = Arc::new(Sink::default());
        let way = Way { cuts, write: usize::MAX };
        if let Err(difference) = talk.replay::<_, 4096>(way, SmtpSink::new(Arc::clone(&sink)), |_| {}) {
            panic!("{difference}");
        }
        taken = sink.taken();
    }
    taken
}

//! Every conversation under `transcripts/` is a case: replayed in each manner, with each verdict the same.

use crate::case::{Case, Needs, NotPassed, Outcome, Pace};
use crate::context::Context;
use crate::replay::{Manner, replay};
use crate::transcript::Transcript;

/// How many different random cuts a conversation is sent in.
const RANDOM_ROUNDS: u64 = 5;

fn run(context: &Context, text: &str) -> Outcome {
    let transcript = Transcript::parse(text).map_err(|mistake| NotPassed::failed(mistake.to_string()))?;
    for manner in Manner::ALL {
        let rounds = if manner == Manner::RandomCuts { RANDOM_ROUNDS } else { 1 };
        for round in 0..rounds {
            replay(&transcript, manner, context.address()?, &mut context.random(round))?;
        }
    }
    Ok(())
}

/// One case for each file, so that a failure names the conversation.
macro_rules! cases {
    ($($file:literal: $rule:literal,)+) => {
        pub(crate) const CASES: &[Case] = &[$(Case {
            name: concat!("transcripts::", $file),
            rule: $rule,
            needs: Needs::Address,
            pace: Pace::Together,
            run: |context| run(context, include_str!(concat!("../../transcripts/", $file, ".txt"))),
        }),+];

        #[cfg(test)]
        const FILES: &[(&str, &str)] =
            &[$(($file, include_str!(concat!("../../transcripts/", $file, ".txt")))),+];
    };
}

cases! {
    "greeting": "rule 4: a client that ends at once is greeted and gets the server's end",
    "numbers": "rule 2: replies are whole, in order, exactly one a line, numbered from 1",
    "empty-lines": "rule 1: an empty line is a line",
    "carriage-returns": "rule 1: one CR right before the LF is not part of the line, any other is data [F05]",
    "quit": "rule 5: after `bye` the server ends the stream",
    "quit-carriage-return": "rule 1: `quit` with CR LF quits too [F05]",
    "quit-then-more": "rule 5: nothing after `quit` is answered",
    "quit-lookalikes": "rule 2: only the line `quit` quits",
    "quit-unterminated": "rule 4: an unterminated tail is not a line, `quit` neither",
    "tail": "rule 4: complete lines before the end of the stream are answered, a tail is not [F06]",
    "tail-carriage-return": "rule 1: only LF ends a line",
    "tail-longest": "rule 1: 4095 bytes without a line feed are not too long",
    "nul": "rule 1: NUL is data [F07]",
    "nul-too-long": "rule 1: the 4096th byte without a line feed is too long, NUL or not [F07]",
    "not-utf-8": "rule 1: a line is bytes, echoed exactly [F08]",
    "longest-line": "rule 1: up to 4095 bytes before the LF are a line; rule 2: replies are whole",
    "longest-line-carriage-return": "rule 1: the CR before the LF counts towards the 4095 bytes",
    "too-long": "rule 1: the 4096th byte without an LF is too long, without waiting for more",
    "too-long-line-feed": "rule 1: 4096 bytes before the LF are too long however they are cut [F01]",
    "too-long-then-more": "rule 5: after `line too long` nothing is answered, and the reply arrives",
    "no-room-for-two": "rule 2: replies are whole and in order, also at the edge of the output buffer",
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::answer;

    /// A file that nobody listed would never be replayed.
    #[test]
    fn every_file_is_a_case() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/transcripts");
        let names =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(".txt")?.to_string())).collect();
        files.sort();
        let mut listed: Vec<&str> = FILES.iter().map(|&(name, _)| name).collect();
        listed.sort_unstable();
        assert_eq!(files, listed);
    }

    /// The files and the model were written apart from each other.
    #[test]
    fn every_file_says_what_the_model_says() {
        for (name, text) in FILES {
            let transcript = Transcript::parse(text).unwrap_or_else(|mistake| panic!("{name}: {mistake}"));
            let sent: Vec<u8> = transcript.client_bytes().collect();
            let expected: Vec<u8> = transcript.server_bytes().collect();
            let model = answer(&sent);
            assert!(expected == model.bytes, "{name}");
            assert_eq!(transcript.server_ends_first(), model.closes, "{name}");
        }
    }
}

//! The transcripts of the conformance suite, straight on the core: every two-way split, byte by byte, every size of
//! write, and some cuts at random.

use std::fs;
use std::path::Path;

use evserver_conformance::transcript::Transcript;
use evserver_core::NumberedEcho;
use evserver_core::testing::Conversation;

#[test]
fn every_transcript_at_every_split() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/transcripts");
    let (mut transcripts, mut runs) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let transcript =
            Transcript::parse(&text).unwrap_or_else(|mistake| panic!("{}: {mistake:?}", path.display()));
        let input: Vec<u8> = transcript.client_bytes().collect();
        let output: Vec<u8> = transcript.server_bytes().collect();
        let conversation = Conversation::new(&input, &output).random_cuts(50);
        match conversation.check(NumberedEcho::new) {
            Ok(ways) => runs += ways,
            Err(difference) => panic!("{}: {difference}", path.display()),
        }
        transcripts += 1;
    }
    println!("{transcripts} transcripts in {runs} ways");
    assert!(transcripts > 10 && runs > 10_000);
}

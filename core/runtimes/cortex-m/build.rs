//! Compiles the transcripts in, and links as cortex-m-rt wants it.

// The parser, which needs nothing of the rest of the suite.
#[allow(dead_code)]
#[path = "../../conformance/src/transcript.rs"]
mod transcript;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use transcript::Transcript;

/// Repetitions of at least so many bytes are kept as repetitions: the conversations are larger than the memory.
const WORTHWHILE_BYTES: usize = 16;

/// What is repeated is at most so many bytes long.
const LONGEST_UNIT_BYTES: usize = 2;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let folder = here.join("../../conformance/transcripts");
    fs::write(out.join("conversations.rs"), conversations(&folder)).expect("the target folder can be written to");
    for changed in [&folder, &here.join("memory.x")] {
        println!("cargo::rerun-if-changed={}", changed.display());
    }
    println!("cargo::rustc-link-search={}", here.display());
    println!("cargo::rustc-link-arg=-Tlink.x");
}

/// Every file of the folder as an item of an array of `Conversation`.
fn conversations(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("the transcripts are beside the suite");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    assert!(!files.is_empty(), "there are no transcripts in {}", folder.display());
    let mut code = String::from("&[\n");
    for path in files {
        let text = fs::read_to_string(&path).expect("a transcript is text");
        let transcript = Transcript::parse(&text).unwrap_or_else(|mistake| panic!("{}: {mistake}", path.display()));
        let sent: Vec<u8> = transcript.client_bytes().collect();
        let expected: Vec<u8> = transcript.server_bytes().collect();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let first = transcript.server_ends_first();
        writeln!(
            code,
            "    Conversation {{ name: {name:?}, sent: {}, expected: {}, server_ends_first: {first} }},",
            runs(&sent),
            runs(&expected)
        )
        .expect("a string takes everything");
    }
    code + "]\n"
}

/// Bytes as an array of `Run`s, as code.
fn runs(mut bytes: &[u8]) -> String {
    let mut code = String::from("&[");
    let mut plain = 0;
    let mut run = |unit: &[u8], times: usize| {
        if !unit.is_empty() {
            write!(code, "Run {{ unit: b\"{}\", times: {times} }}, ", unit.escape_ascii())
                .expect("a string takes everything");
        }
    };
    while plain < bytes.len() {
        match repetition(&bytes[plain..]) {
            Some((unit, times)) => {
                run(&bytes[..plain], 1);
                run(unit, times);
                (bytes, plain) = (&bytes[plain + unit.len() * times..], 0);
            }
            None => plain += 1,
        }
    }
    run(bytes, 1);
    code + "]"
}

/// What the bytes begin with and how often, if that is worthwhile.
fn repetition(bytes: &[u8]) -> Option<(&[u8], usize)> {
    (1..=LONGEST_UNIT_BYTES.min(bytes.len())).find_map(|length| {
        let unit = &bytes[..length];
        let times = bytes.chunks_exact(length).take_while(|chunk| *chunk == unit).count();
        (length * times >= WORTHWHILE_BYTES).then_some((unit, times))
    })
}

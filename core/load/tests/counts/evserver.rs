//! The server as it ships.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use evserver_load::cpus::Cpus;
use evserver_load::script::Mode;
use evserver_load::server::{Running, Server, Start, on_path};

/// Built once, for release, in the folder of this build.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    // TARGET/debug/evserver-compare, or TARGET/SYSTEM/debug/evserver-compare.
    let own = Path::new(env!("CARGO_BIN_EXE_evserver-compare"));
    let target = own.ancestors().nth(2).expect("a program is in a folder of a folder");
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args(["build", "--quiet", "--release", "-p", "evserver-linux", "--bin", "evserver", "--target-dir"])
        .arg(target)
        .status()
        .expect("cargo runs");
    assert!(built.success(), "the server does not build");
    target.join("release/evserver")
});

/// Starts it, as the last argument of `around`.
pub fn start(around: &[&str], arguments: &[&str]) -> Running {
    let program = PROGRAM.to_str().expect("a path of text");
    let command = [around, &[program], arguments].concat().into_iter().map(String::from).collect();
    let server = Server { command, start: Start::Announces, mode: Mode::Numbered, greeting: true };
    server.start(Cpus::choose().unwrap()).unwrap()
}

/// Whether the program is there; where CI runs, it must be.
pub fn has(program: &str) -> bool {
    let found = on_path(program);
    if let Err(why) = &found {
        missing(why);
    }
    found.is_ok()
}

/// Says that a test is skipped; where CI runs, it fails.
pub fn missing(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    println!("SKIPPED: {why}");
}

//! `chat`: a room in which every line goes to everybody else.

use std::process::ExitCode;
use std::sync::Arc;

use evserver_examples::chat::{Chat, Room};
use evserver_examples::shells::{Program, ShellArgs};
use evserver_hosted::parse;

/// A room in which every line goes to everybody else; /quit leaves
#[derive(clap::Parser)]
#[command(name = "chat", version)]
struct Args {
    #[command(flatten)]
    shell: ShellArgs,
}

fn main() -> ExitCode {
    let Args { shell } = parse();
    let room = Arc::new(Room::default());
    match Program::begin("chat", shell) {
        Ok(program) => program.run(|peer| Chat::new(&room, peer)),
        Err(code) => code,
    }
}

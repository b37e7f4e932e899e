//! `smtp-sink`: takes mail and says how much it was.

use std::process::ExitCode;
use std::sync::Arc;

use evserver_examples::shells::{Program, ShellArgs};
use evserver_examples::smtp_sink::{Sink, SmtpSink};
use evserver_hosted::{parse, say};

/// Takes mail by SMTP, keeps the last of it in memory, and says at the end how many mails there were
#[derive(clap::Parser)]
#[command(name = "smtp-sink", version)]
struct Args {
    #[command(flatten)]
    shell: ShellArgs,
}

fn main() -> ExitCode {
    let Args { shell } = parse();
    let sink = Arc::new(Sink::default());
    let code = match Program::begin("smtp-sink", shell) {
        Ok(program) => program.run(|_| SmtpSink::new(Arc::clone(&sink))),
        Err(code) => return code,
    };
    say::out(&format!("took {} mails", sink.taken()));
    code
}

//! Which program plays which part.

use clap::ValueEnum;
use evserver_load::script;
use evserver_load::server::{Server, Start, beside, on_path};

use crate::rows::Role;

/// The options that name programs.
#[derive(clap::Args, Debug)]
pub struct Programs {
    /// The server that is judged [beside this program: evserver --idle-timeout 600]
    #[arg(long, value_name = "COMMAND")]
    subject: Option<String>,
    /// How it answers
    #[arg(long, value_enum, default_value_t = Mode::Numbered)]
    subject_mode: Mode,
    /// A thread a connection [beside this program: evserver-threads --idle-timeout 600]
    #[arg(long, value_name = "COMMAND")]
    threads: Option<String>,
    /// The bare loop, a plain echo [beside this program: evserver-yardstick --greeting]
    #[arg(long, value_name = "COMMAND")]
    yardstick: Option<String>,
    /// A tokio server of the numbered echo [beside this program: examples/tokio_lines]
    #[arg(long, value_name = "COMMAND")]
    tokio: Option<String>,
    /// The server that is judged against Redis [beside this program: resp --idle-timeout 600]
    #[arg(long, value_name = "COMMAND")]
    resp: Option<String>,
    /// Redis, which gets --bind and --port [on the PATH: redis-server --save '' --appendonly no]
    #[arg(long, value_name = "COMMAND")]
    redis: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// `N: line`
    Numbered,
    /// the same bytes
    Echo,
}

/// Longer than any round may take on a busy machine; the timers are at work all the same.
const PATIENT: &[&str] = &["--idle-timeout", "600"];

/// Redis with nothing to do but to answer: no snapshots, no log.
const ONLY_MEMORY: &[&str] = &["--save", "", "--appendonly", "no"];

impl Programs {
    /// The program that plays `role`, none for what needs no program, or why there is none.
    pub fn server(&self, role: Role) -> Result<Option<Server>, String> {
        let (given, program, arguments): (_, _, &[&str]) = match role {
            Role::Core => return Ok(None),
            Role::Subject => (&self.subject, "evserver", PATIENT),
            Role::Threads => (&self.threads, "evserver-threads", PATIENT),
            Role::Yardstick => (&self.yardstick, "evserver-yardstick", &["--greeting"]),
            Role::Tokio => (&self.tokio, "examples/tokio_lines", &[]),
            Role::Resp => (&self.resp, "resp", PATIENT),
            Role::Redis => (&self.redis, "redis-server", ONLY_MEMORY),
        };
        let command = match given {
            Some(given) => given.split_whitespace().map(String::from).collect(),
            None => {
                let path = if role == Role::Redis { on_path(program)? } else { beside(program)? };
                let path = path.display().to_string();
                std::iter::once(path).chain(arguments.iter().map(|text| text.to_string())).collect()
            }
        };
        let mode = match (role, self.subject_mode) {
            (Role::Yardstick, _) | (Role::Subject, Mode::Echo) => script::Mode::Echo,
            (Role::Resp | Role::Redis, _) => script::Mode::Ping,
            (Role::Subject | Role::Core | Role::Threads | Role::Tokio, _) => script::Mode::Numbered,
        };
        let start = if role == Role::Redis { Start::Redis } else { Start::Announces };
        Ok(Some(Server { command, start, mode, greeting: mode != script::Mode::Ping }))
    }
}

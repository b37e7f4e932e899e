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
    /// Holds a million connections in a guest, which takes ten minutes: core/load/guest/run [left out]
    #[arg(long, value_name = "COMMAND")]
    guest: Option<String>,
}

/// Who a row measures.
#[derive(Clone, Debug)]
pub enum Player {
    /// A server that is started for each round.
    Server(Server),
    /// The core, in this program.
    Core,
    /// A command that does all by itself.
    Guest(String),
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
    /// Who plays `role`, or why nobody does.
    pub fn player(&self, role: Role) -> Result<Player, String> {
        let (given, program, arguments): (_, _, &[&str]) = match role {
            Role::Core => return Ok(Player::Core),
            Role::Guest => {
                let why = || "takes ten minutes in a guest: --guest core/load/guest/run".to_string();
                return self.guest.clone().map(Player::Guest).ok_or_else(why);
            }
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
            (Role::Subject | Role::Core | Role::Guest | Role::Threads | Role::Tokio, _) => script::Mode::Numbered,
        };
        let start = if role == Role::Redis { Start::Redis } else { Start::Announces };
        Ok(Player::Server(Server { command, start, mode, greeting: mode != script::Mode::Ping }))
    }
}

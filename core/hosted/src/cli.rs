//! The part of the command line that every shell has.

use std::ffi::OsString;
use std::process;

use clap::Parser;
use clap::error::ContextKind;
use evserver_core::{Limits, Settings};

use crate::address::{ListenAddress, parse_port};
use crate::say;
use crate::seconds::parse_milliseconds;

/// The port when none is given.
pub const DEFAULT_PORT: u16 = 8080;

/// Clients that may wait to be accepted, unless `--backlog` says otherwise; the system may cap it.
pub const DEFAULT_BACKLOG: u32 = 512;

/// Options that all shells share, to be flattened into a shell's own parser:
///
/// ```
/// use clap::Parser as _;
///
/// #[derive(clap::Parser)]
/// #[command(name = "evserver", version)]
/// struct Args {
///     #[command(flatten)]
///     common: evserver_hosted::CommonArgs,
/// }
///
/// let args = Args::try_parse_from(["evserver", "--idle-timeout", "0.5", "7000"])?;
/// assert_eq!((args.common.port, args.common.idle_ms), (7000, 500));
/// # Ok::<(), clap::Error>(())
/// ```
#[derive(clap::Args, Clone, Debug, PartialEq, Eq)]
// Else clap would show the words above as what a program does that says nothing of itself.
#[command(about = None, long_about = None)]
pub struct CommonArgs {
    /// Port to listen on, on every address of this machine, IPv6 and IPv4; 0 takes a free one
    #[arg(value_name = "PORT", default_value_t = DEFAULT_PORT, conflicts_with = "listen", value_parser = parse_port)]
    pub port: u16,

    /// Addresses to listen on in place of the port.
    // The help has brackets, which the documentation would take for a link.
    #[arg(long, value_name = "ADDR:PORT")]
    #[arg(help = "Listen on this address instead (127.0.0.1:80, [::1]:0, localhost:8080, :8080); may be repeated")]
    pub listen: Vec<ListenAddress>,

    /// Close a connection on which no byte moved for so long; 0 is never
    #[arg(long = "idle-timeout", value_name = "SECONDS", default_value = "30")]
    #[arg(value_parser = parse_milliseconds, allow_negative_numbers = true)]
    pub idle_ms: u32,

    /// Close a connection that takes longer than this for one line; 0 is never
    #[arg(long = "line-timeout", value_name = "SECONDS", default_value = "0")]
    #[arg(value_parser = parse_milliseconds, allow_negative_numbers = true)]
    pub line_ms: u32,

    /// After SIGTERM, SIGINT or SIGHUP give connections so long to take their last replies
    #[arg(long = "drain-timeout", value_name = "SECONDS", default_value = "5")]
    #[arg(value_parser = parse_milliseconds, allow_negative_numbers = true)]
    pub drain_ms: u32,

    /// Serve at most N connections at a time; others are told that the server is full [default: no limit]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: Option<u32>,

    /// Let N clients wait to be accepted; the system may cap it
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BACKLOG, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub backlog: u32,
}

impl CommonArgs {
    /// The addresses to listen on: those of `--listen`, or every address of this machine at PORT.
    pub fn addresses(&self) -> Vec<ListenAddress> {
        if self.listen.is_empty() { vec![ListenAddress::any(self.port)] } else { self.listen.clone() }
    }

    /// The limits of time and number, for a poller that reports states.
    pub fn settings(&self) -> Settings {
        Settings {
            limits: Limits { idle_ms: self.idle_ms, line_ms: self.line_ms, ..Limits::new() },
            max_connections: self.max_connections,
            drain_ms: self.drain_ms,
            edge_triggered: false,
        }
    }
}

/// Options of the shells that serve many clients in one loop, to be flattened beside [`CommonArgs`].
#[derive(clap::Args, Clone, Copy, Debug, PartialEq, Eq)]
#[command(about = None, long_about = None)]
pub struct LoopArgs {
    /// Serve with N loops, each on a thread of its own; the kernel spreads the clients over them
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| parse_threads(text))]
    pub threads: usize,
}

/// More threads than this help nobody: a loop is never idle while it has work.
const MAX_THREADS: usize = 1024;

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=MAX_THREADS) => Ok(threads),
        _ => Err(format!("write a number from 1 to {MAX_THREADS}")),
    }
}

/// Parses the command line of this program; ends it after `--help` and `--version` (0) or a mistake (2).
///
/// The text is given [`say::PATIENCE`] to leave, so an output that is closed or full delays the end and no more.
pub fn parse<T: Parser>() -> T {
    parse_from(std::env::args_os())
}

/// [`parse`] for arguments from elsewhere; the first one is the name of the program.
pub fn parse_from<T: Parser>(args: impl IntoIterator<Item = OsString>) -> T {
    match T::try_parse_from(args) {
        Ok(parsed) => parsed,
        Err(stop) => {
            if stop.use_stderr() {
                say::err_text(&with_usage::<T>(&stop))
            } else {
                say::out_text(&stop.render().to_string())
            }
            process::exit(stop.exit_code());
        }
    }
}

/// What is wrong, and how it is used: clap leaves the usage out where a value is wrong.
fn with_usage<T: Parser>(mistake: &clap::Error) -> String {
    let mut text = mistake.render().to_string();
    if mistake.get(ContextKind::Usage).is_none() {
        text = format!("{text}\n{}\n", T::command().render_usage());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    /// Says what the program is
    #[derive(Parser, Debug)]
    #[command(name = "evserver", version)]
    struct Args {
        #[command(flatten)]
        common: CommonArgs,
        #[arg(long)]
        edge_triggered: bool,
    }

    fn parse(args: &[&str]) -> Result<CommonArgs, clap::Error> {
        Args::try_parse_from([&["evserver"], args].concat()).map(|args| args.common)
    }

    fn refused(args: &[&str]) -> String {
        let error = parse(args).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        assert!(error.use_stderr());
        error.to_string()
    }

    #[test]
    fn every_mistake_shows_the_usage() {
        for args in [["--idle-timeout", "soon"], ["--no-such-option", "1"], ["1", "2"]] {
            let mistake = Args::try_parse_from([&["evserver"], &args[..]].concat()).unwrap_err();
            assert_eq!(with_usage::<Args>(&mistake).matches("Usage: evserver").count(), 1, "{args:?}");
        }
    }

    #[test]
    fn the_command_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let expected = CommonArgs {
            port: 8080,
            listen: Vec::new(),
            idle_ms: 30_000,
            line_ms: 0,
            drain_ms: 5_000,
            max_connections: None,
            backlog: 512,
        };
        assert_eq!(parse(&[]).unwrap(), expected);
        assert_eq!(expected.addresses(), [ListenAddress::any(8080)]);
    }

    /// The same server whether it is started by hand or by a program that sets nothing.
    #[test]
    fn without_arguments_the_settings_are_those_of_the_library() {
        assert_eq!(parse(&[]).unwrap().settings(), Settings::default());
    }

    #[test]
    fn every_option_is_taken() {
        let args = [
            "--listen=127.0.0.1:0",
            "--listen",
            "[::1]:80",
            "--idle-timeout=0",
            "--line-timeout",
            "1.5",
            "--drain-timeout=.25",
            "--max-connections=1",
            "--backlog=2147483647",
        ];
        let args = parse(&args).unwrap();
        assert_eq!(args.addresses(), ["127.0.0.1:0".parse().unwrap(), "[::1]:80".parse().unwrap()]);
        assert_eq!((args.idle_ms, args.line_ms, args.drain_ms), (0, 1_500, 250));
        assert_eq!((args.max_connections, args.backlog), (Some(1), i32::MAX as u32));
        assert_eq!(parse(&["9000"]).unwrap().addresses(), [ListenAddress::any(9000)]);
        assert_eq!(parse(&["0"]).unwrap().addresses(), [ListenAddress::any(0)]);
        assert!(Args::try_parse_from(["evserver", "--edge-triggered"]).unwrap().edge_triggered);
    }

    #[test]
    fn a_port_beside_listen_is_refused() {
        for args in [["--listen=:1", "8080"], ["8080", "--listen=:1"]] {
            assert_eq!(parse(&args).unwrap_err().kind(), ErrorKind::ArgumentConflict);
        }
    }

    #[test]
    fn refusals_name_the_option_and_the_reason() {
        for (args, option, reason) in [
            (&["--idle-timeout", "-1"][..], "--idle-timeout <SECONDS>", "a time cannot be negative"),
            (&["--idle-timeout", "NaN"], "--idle-timeout <SECONDS>", "write seconds as a decimal number"),
            (&["--line-timeout", "inf"], "--line-timeout <SECONDS>", "write seconds as a decimal number"),
            (&["--drain-timeout=1e99"], "--drain-timeout <SECONDS>", "write seconds as a decimal number"),
            (&["--drain-timeout=9999999"], "--drain-timeout <SECONDS>", "at most 4294967 seconds"),
            (&["--max-connections", "0"], "--max-connections <N>", "0 is not in 1..=4294967295"),
            (&["--max-connections", "-1"], "--max-connections <N>", "-1 is not in 1.."),
            (&["--backlog", "0"], "--backlog <N>", "0 is not in 1..=2147483647"),
            (&["--backlog", "2147483648"], "--backlog <N>", "2147483648 is not in 1..=2147483647"),
            (&["--listen", "8080"], "--listen <ADDR:PORT>", "no port: write ADDR:PORT"),
            (&["65536"], "[PORT]", "the port must be a number from 0 to 65535"),
            (&["http"], "[PORT]", "the port must be a number from 0 to 65535"),
            (&["+80"], "[PORT]", "the port must be a number from 0 to 65535"),
            (&["--listen"], "--listen <ADDR:PORT>", "a value is required"),
            (&["--no-such-option"], "--no-such-option", "unexpected argument"),
            (&["1", "2"], "'2'", "unexpected argument"),
        ] {
            let message = refused(args);
            assert!(message.contains(option) && message.contains(reason), "{args:?}: {message}");
        }
    }

    #[test]
    fn help_and_version_are_for_standard_output_and_end_with_0() {
        for (flag, kind) in [("--help", ErrorKind::DisplayHelp), ("--version", ErrorKind::DisplayVersion)] {
            let stop = parse(&[flag]).unwrap_err();
            assert_eq!((stop.kind(), stop.exit_code(), stop.use_stderr()), (kind, 0, false));
        }
    }

    /// A program that says nothing of itself must not show the documentation of `CommonArgs` instead.
    #[test]
    fn help_of_a_program_without_words_has_none() {
        #[derive(Parser)]
        struct Wordless {
            #[command(flatten)]
            _common: CommonArgs,
        }
        for help in [Wordless::command().render_help(), Wordless::command().render_long_help()] {
            assert!(help.to_string().starts_with("Usage: "), "{help}");
        }
    }

    #[test]
    fn help_shows_the_shells_own_words_and_every_default() {
        // Where another package has clap wrap its help, lines must stay whole for this.
        let help = Args::command().term_width(0).render_long_help().to_string();
        for expected in [
            "Says what the program is",
            "Usage: evserver [OPTIONS] [PORT]",
            "[default: 8080]",
            "[default: 30]",
            "[default: 0]",
            "[default: 5]",
            "[default: no limit]",
            "[default: 512]",
        ] {
            assert!(help.contains(expected), "{expected} in {help}");
        }
        assert!(!help.contains("flattened"), "{help}");
    }
}

//! Programs whose standard output or error is closed, full or gone: they end as they should, and what they say
//! lands nowhere else.
//!
//! Without the usual harness, since each test starts this very program again as the one under test, and the
//! harness would print to an output that takes nothing.

#[cfg(not(unix))]
fn main() {
    println!("1 passed, 0 failed: nothing here is about this system");
}

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    unix::main()
}

#[cfg(unix)]
mod unix {
    use std::env;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Command, ExitCode, Output, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use evserver_hosted::{CommonArgs, parse_from, say};
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

    /// The first argument of this program when it plays the one under test.
    const PLAY: &str = "--play";

    /// Only a program that waits for ever takes so long.
    const FOREVER: Duration = Duration::from_secs(60);

    const TESTS: [(&str, fn()); 10] = [
        ("help_goes_to_standard_output_and_ends_with_0", help_goes_to_standard_output_and_ends_with_0),
        ("version_is_one_line", version_is_one_line),
        ("a_mistake_goes_to_standard_error_and_ends_with_2", a_mistake_goes_to_standard_error_and_ends_with_2),
        ("help_to_a_full_pipe_still_ends_with_0", help_to_a_full_pipe_still_ends_with_0),
        ("a_mistake_with_a_full_standard_error_still_ends_with_2", a_mistake_with_a_full_standard_error),
        ("help_to_a_reader_that_has_gone_still_ends_with_0", help_to_a_reader_that_has_gone),
        ("a_program_that_talks_to_a_full_pipe_ends", a_program_that_talks_to_a_full_pipe_ends),
        ("a_file_at_its_limit_of_size_ends_nobody", a_file_at_its_limit_of_size_ends_nobody),
        ("what_fails_is_said_on_standard_error_and_ends_with_1", what_fails_is_said_and_ends_with_1),
        ("a_program_started_with_closed_output_says_nothing_to_a_client", closed_output_says_nothing_to_a_client),
    ];

    pub(super) fn main() -> ExitCode {
        let args: Vec<String> = env::args().skip(1).collect();
        if args.first().is_some_and(|first| first == PLAY) {
            return play(&args[1..]);
        }
        // As other test programs do: --list names the tests, and a word chooses among them.
        let chosen = |name: &str| args.iter().all(|word| word.starts_with('-') || name.contains(word.as_str()));
        let mut passed = 0;
        for (name, test) in TESTS.into_iter().filter(|(name, _)| chosen(name)) {
            if args.iter().any(|arg| arg == "--list") {
                println!("{name}: test");
                continue;
            }
            test();
            println!("test {name} ... ok");
            passed += 1;
        }
        println!("{passed} passed, 0 failed");
        ExitCode::SUCCESS
    }

    #[derive(clap::Parser)]
    #[command(name = "evserver", version = "1.2.3")]
    struct Args {
        #[command(flatten)]
        common: CommonArgs,
    }

    /// The program under test.
    fn play(args: &[String]) -> ExitCode {
        match &args[0][..] {
            "parse" => {
                let words = [&["evserver".to_owned()], &args[1..]].concat();
                let parsed: Args = parse_from(words.into_iter().map(Into::into));
                say::out(&format!("port {}", parsed.common.port));
            }
            "talk" => {
                for _ in 0..10_000 {
                    say::out("a line on standard output");
                    say::err("a line on standard error");
                }
            }
            "fail" => return say::fail("evserver", "cannot listen on [::]:8080: Address already in use"),
            "serve" => {
                let mut client = TcpStream::connect(("127.0.0.1", args[1].parse::<u16>().unwrap())).unwrap();
                say::out("listening on [::]:8080");
                say::err("evserver: something went wrong");
                client.write_all(b"ready\n").unwrap();
                return say::fail("evserver", "and went on going wrong");
            }
            other => panic!("{other} is not known"),
        }
        ExitCode::SUCCESS
    }

    fn program(args: &[&str]) -> Command {
        let mut command = Command::new(env::current_exe().unwrap());
        command.arg(PLAY).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Runs it with both outputs read.
    fn run(args: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } =
            program(args).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    /// Its exit status, or a panic when it does not end.
    fn end(mut child: Child) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < FOREVER {
            if let Some(status) = child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        panic!("it did not end");
    }

    /// A pipe that takes no more; the reader must be kept, or it is a pipe without a reader.
    fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let flags = fcntl_getfl(&writer).unwrap();
        fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
        while writer.write(&[b'.'; 4096]).is_ok() {}
        while writer.write(b".").is_ok() {}
        fcntl_setfl(&writer, flags).unwrap();
        (reader, writer)
    }

    fn help_goes_to_standard_output_and_ends_with_0() {
        let (status, output, error) = run(&["parse", "--help"]);
        assert_eq!((status, &error[..]), (Some(0), ""));
        assert!(output.starts_with("Usage: evserver [OPTIONS] [PORT]") && output.ends_with('\n'), "{output}");
        assert!(output.contains("--drain-timeout <SECONDS>") && !output.contains('\x1b'), "{output}");
    }

    fn version_is_one_line() {
        assert_eq!(run(&["parse", "--version"]), (Some(0), "evserver 1.2.3\n".to_owned(), String::new()));
    }

    fn a_mistake_goes_to_standard_error_and_ends_with_2() {
        let (status, output, error) = run(&["parse", "--backlog", "0"]);
        assert_eq!((status, &output[..]), (Some(2), ""));
        assert!(error.starts_with("error: invalid value '0' for '--backlog <N>'"), "{error}");
        assert_eq!(run(&["parse", "77"]), (Some(0), "port 77\n".to_owned(), String::new()));
    }

    fn help_to_a_full_pipe_still_ends_with_0() {
        let (_reader, writer) = full_pipe();
        assert_eq!(end(program(&["parse", "--help"]).stdout(writer).spawn().unwrap()), Some(0));
    }

    fn a_mistake_with_a_full_standard_error() {
        let (_reader, writer) = full_pipe();
        assert_eq!(end(program(&["parse", "nonsense"]).stderr(writer).spawn().unwrap()), Some(2));
    }

    fn help_to_a_reader_that_has_gone() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = program(&["parse", "--help"]).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
        if let Ok(full) = File::options().write(true).open("/dev/full") {
            assert_eq!(end(program(&["parse", "--help"]).stdout(full).spawn().unwrap()), Some(0));
        }
    }

    fn a_program_that_talks_to_a_full_pipe_ends() {
        let (_reader, writer) = full_pipe();
        let error = writer.try_clone().unwrap();
        assert_eq!(end(program(&["talk"]).stdout(writer).stderr(error).spawn().unwrap()), Some(0));
    }

    /// SIGXFSZ would be its end. A block of `ulimit -f` is 512 bytes or 1024, so a few lines fit, and only whole ones.
    fn a_file_at_its_limit_of_size_ends_nobody() {
        for redirection in [">", ">>"] {
            let file = env::temp_dir().join(format!("evserver-output-{}", std::process::id()));
            let script = format!("ulimit -f 1; exec \"$0\" \"$@\" {redirection}\"$FILE\"");
            let mut limited = Command::new("sh");
            limited.args(["-c", &script]).arg(env::current_exe().unwrap()).args([PLAY, "talk"]).env("FILE", &file);
            let status = end(limited.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::remove_file(&file).unwrap();
            assert_eq!(status, Some(0), "with {redirection}");
            assert!(text.lines().count() >= 10 && text.len() <= 1024, "{}", text.len());
            assert_eq!(text.replace("a line on standard output\n", ""), "");
        }
    }

    fn what_fails_is_said_and_ends_with_1() {
        let said = "evserver: cannot listen on [::]:8080: Address already in use\n";
        assert_eq!(run(&["fail"]), (Some(1), String::new(), said.to_owned()));
    }

    /// Were descriptor 1 or 2 free at the start, the client's socket would get that number.
    fn closed_output_says_nothing_to_a_client() {
        for closed in ["", ">&-", "2>&-", "<&- >&- 2>&-"] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port().to_string();
            let child = Command::new("sh")
                .args(["-c", &format!("exec \"$0\" \"$@\" {closed}")])
                .arg(env::current_exe().unwrap())
                .args([PLAY, "serve", &port])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut client = listener.accept().unwrap().0;
            client.set_read_timeout(Some(FOREVER)).unwrap();
            let mut text = String::new();
            client.read_to_string(&mut text).unwrap();
            assert_eq!(text, "ready\n", "with {closed}");
            assert_eq!(end(child), Some(1), "with {closed}");
        }
    }
}

//! `chat`: lines go to everybody else, whatever loop they are on; who is slow is told what was missed.

mod tools;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use evserver_examples::chat::{Chat, MEMBERS, Room};
use evserver_examples::shells::Shell;
use socket2::{Domain, Socket, Type};

use tools::{FOREVER, Lines, Running, client, run, serving, shells, text};

/// Serves a room on every shell that runs here, with one loop and with several.
fn everywhere(talk: impl Fn(Shell, SocketAddr)) {
    for &shell in shells() {
        for loops in [1, 3] {
            let room = Arc::new(Room::default());
            serving(shell, loops, |peer| Chat::new(&room, peer), |address| talk(shell, address));
        }
    }
}

/// A member that has entered, and its name.
fn enter(address: SocketAddr, others: usize) -> (Lines, String) {
    let mut member = Lines::connect(address);
    let name = greeted(&mut member, others);
    (member, name)
}

fn greeted(member: &mut Lines, others: usize) -> String {
    let greeting = member.next().expect("a greeting");
    let name =
        greeting.strip_prefix("* you are ").and_then(|rest| rest.strip_suffix(&format!(", others here: {others}")));
    name.unwrap_or_else(|| panic!("{greeting}")).to_owned()
}

#[test]
fn a_line_goes_to_everybody_else() {
    everywhere(|_, address| {
        let mut members: Vec<(Lines, String)> = Vec::new();
        for number in 0..10 {
            let (member, name) = enter(address, number);
            for (other, _) in &mut members {
                other.expect(&format!("* {name} came"));
            }
            members.push((member, name));
        }
        for speaker in 0..10 {
            let name = members[speaker].1.clone();
            members[speaker].0.say("hello\r\n\nwith a \u{1b}[31mtrick\n");
            for (number, (member, _)) in members.iter_mut().enumerate() {
                if number != speaker {
                    member.expect(&format!("{name}: hello"));
                    member.expect(&format!("{name}: with a ?[31mtrick"));
                }
            }
        }
        let (mut leaving, name) = members.remove(3);
        leaving.say("/quit\n");
        assert_eq!(leaving.next(), None);
        for (member, _) in &mut members {
            member.expect(&format!("* {name} left"));
        }
        members[0].0.say(&format!("{}\n", "x".repeat(1001)));
        members[0].0.expect("* that line is too long, nobody got it");
    });
}

#[test]
fn everybody_gets_all_lines_in_the_same_order() {
    const SPEAKERS: usize = 4;
    const LINES: usize = 200;
    everywhere(|shell, address| {
        let mut listeners: Vec<Lines> = (0..2).map(|number| enter(address, number).0).collect();
        listeners[0].next();
        let speakers: Vec<_> = (0..SPEAKERS).map(|number| enter(address, 2 + number)).collect();
        thread::scope(|scope| {
            for (mut speaker, _) in speakers {
                scope.spawn(move || {
                    for number in 0..LINES {
                        speaker.say(&format!("{number}\n"));
                    }
                    // The others' lines are read, so that nobody is slow.
                    let mut heard = 0;
                    while heard < LINES * (SPEAKERS - 1) {
                        let line = speaker.next().expect("the lines of the others");
                        assert!(!line.contains("missed"), "{line}");
                        heard += usize::from(!line.starts_with('*'));
                    }
                });
            }
            let heard: Vec<Vec<String>> = thread::scope(|scope| {
                let hear = |listener: &mut Lines| {
                    let mut heard = Vec::new();
                    while heard.len() < LINES * SPEAKERS {
                        heard.extend(listener.next().filter(|line| !line.starts_with("* guest")));
                    }
                    heard
                };
                let threads: Vec<_> =
                    listeners.iter_mut().map(|listener| scope.spawn(move || hear(listener))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(heard[0] == heard[1], "{shell:?}");
        });
    });
}

/// A client for which the system keeps little, so that it soon counts as slow.
fn connect_with_small_buffer(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&address.into()).unwrap();
    socket.set_read_timeout(Some(FOREVER)).unwrap();
    socket.into()
}

/// The stated rule: what a slow reader misses it is told of, in the place where it would have been, and exactly.
#[test]
fn a_slow_reader_is_told_how_many_lines_it_missed_and_where() {
    /// 20 MB: more than any system keeps for a client that does not read.
    const LINES: usize = 20_000;
    everywhere(|shell, address| {
        let mut slow = Lines::over(connect_with_small_buffer(address));
        greeted(&mut slow, 0);
        let (mut speaker, name) = enter(address, 1);
        slow.expect(&format!("* {name} came"));
        let (mut other, _) = enter(address, 2);
        speaker.next();
        // The other listener reads, and misses nothing; when it has all, the slow one has been refused what it was.
        let text: String = (0..LINES).map(|number| format!("{number} {}\n", "x".repeat(990))).collect();
        thread::scope(|scope| {
            let mut stream = speaker.stream.try_clone().unwrap();
            scope.spawn(move || stream.write_all(text.as_bytes()).unwrap());
            let mut next = 0;
            let mut missed_by_other = 0;
            while next + missed_by_other < LINES {
                match number_or_missed(&other.next().unwrap(), &name) {
                    Heard::Line(_) => next += 1,
                    Heard::Missed(lines) => missed_by_other += lines,
                    Heard::Else => {}
                }
            }
        });
        speaker.say("the end\n");
        let (mut next, mut missed) = (0, 0);
        loop {
            let line = slow.next().expect("a line");
            match number_or_missed(&line, &name) {
                Heard::Line(number) => {
                    assert_eq!(number, next, "{shell:?}: a gap that was not told");
                    next += 1;
                }
                Heard::Missed(lines) => {
                    next += lines;
                    missed += lines;
                }
                Heard::Else if line.ends_with("the end") => break,
                Heard::Else => {}
            }
            if next > LINES {
                // The end itself was one of those that it missed.
                break;
            }
        }
        assert!(missed > 0, "{shell:?}: it was not slow");
        assert!((LINES..=LINES + 2).contains(&next), "{shell:?}: {next} of {LINES} lines are accounted for");
    });
}

enum Heard {
    Line(usize),
    Missed(usize),
    Else,
}

fn number_or_missed(line: &str, name: &str) -> Heard {
    if let Some(rest) = line.strip_prefix("* you missed ") {
        return Heard::Missed(rest.split(' ').next().unwrap().parse().unwrap());
    }
    let number = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
    match number.and_then(|rest| rest.split(' ').next()).and_then(|number| number.parse().ok()) {
        Some(number) => Heard::Line(number),
        None => Heard::Else,
    }
}

#[test]
fn a_full_room_says_so_and_has_room_when_one_leaves() {
    for &shell in shells() {
        let room = Arc::new(Room::default());
        serving(
            shell,
            1,
            |peer| Chat::new(&room, peer),
            |address| {
                let mut members: Vec<Lines> = (0..MEMBERS).map(|number| enter(address, number).0).collect();
                let mut refused = Lines::connect(address);
                refused.expect("* the room is full");
                assert_eq!(refused.next(), None);
                let mut leaving = members.remove(0);
                leaving.say("/quit\n");
                while leaving.next().is_some() {}
                // Its place is free a moment after its connection has ended.
                let mut last = members.pop().unwrap();
                while last.next().expect("that it left") != "* guest-1 left" {}
                enter(address, MEMBERS - 1);
            },
        );
    }
}

#[test]
fn nc_chats_with_the_program() {
    let Some(_) = client("nc") else { return };
    for &shell in shells() {
        let server = Running::start(env!("CARGO_BIN_EXE_chat"), shell, &[]);
        let (mut member, _) = enter(server.address, 0);
        let (ip, port) = (server.address.ip().to_string(), server.address.port().to_string());
        let said = run(Command::new("nc").args(["-N", &ip, &port]), b"hello from nc\n");
        assert_eq!(text(&said), "* you are guest-2, others here: 1\n");
        member.expect("* guest-2 came");
        member.expect("guest-2: hello from nc");
        member.expect("* guest-2 left");
        let finished = server.stop();
        assert!(finished.success && finished.output.starts_with("served 2 connections, peak concurrent 2\n"));
    }
}

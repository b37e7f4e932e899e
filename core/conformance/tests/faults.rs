//! The suite finds the faults of a server that has them, and none in one that has not.

use evserver_conformance::{Command, Suite, Summary, Target};

const SERVER: &str = env!("CARGO_BIN_EXE_faulty-server");

fn run(arguments: &[&str], cases: &[&str]) -> Summary {
    let suite = Suite::new(Target::Command(Command::spawn(SERVER, arguments)));
    suite.only(cases.iter().copied()).run().unwrap_or_else(|mistake| panic!("{mistake}"))
}

/// Every case about one connection; a server of a few lines has no signals, report or descriptor limits to speak of.
const GROUPS: &[&str] = &["transcripts::", "framing::", "output::", "stalls::", "closing::"];

fn is_right(kind: &str) {
    let summary = run(&["--loop", kind], GROUPS);
    assert!(summary.failed.is_empty(), "{summary}: {:?}", summary.failed);
    assert!(summary.passed.len() >= 50, "{summary}");
}

#[test]
fn a_right_server_with_threads_passes() {
    is_right("threads");
}

#[test]
#[cfg(target_os = "linux")]
fn a_right_server_with_an_event_loop_passes() {
    is_right("events");
}

/// Each fault, the loop that can have it, and the cases that must say so.
macro_rules! faults {
    ($($test:ident: $kind:literal, $fault:literal => $cases:expr;)+) => {$(
        #[test]
        fn $test() {
            let cases: &[&str] = &$cases;
            let summary = run(&["--loop", $kind, "--fault", $fault], cases);
            assert_eq!(summary.failed, cases, "{summary}");
        }
    )+};
}

faults! {
    answers_after_quit: "threads", "answers-after-quit" => ["transcripts::quit-then-more"];
    answers_a_tail: "threads", "answers-tail" => ["transcripts::tail", "framing::tail_with_end_behind"];
    cuts_nul: "threads", "cuts-nul" => ["transcripts::nul", "framing::nul_is_data"];
    insists_on_utf_8: "threads", "strict-utf8" => ["transcripts::not-utf-8", "framing::every_byte_value"];
    cuts_every_carriage_return: "threads", "cuts-every-return" => ["transcripts::carriage-returns"];
    cuts_a_return_of_the_same_read_only: "threads", "cuts-return-of-same-read" =>
        ["framing::cr_lf_split_in_time", "framing::cr_lf_split_anywhere"];
    does_not_count_the_carriage_return: "threads", "return-is-free" => ["transcripts::longest-line-carriage-return"];
    checks_the_length_of_incomplete_lines_only: "threads", "checks-length-when-incomplete" =>
        ["framing::verdict_independent_of_chunks"];
    waits_for_the_line_feed: "threads", "verdict-at-line-feed" => ["framing::too_long_at_the_byte"];
    closes_with_a_reset: "threads", "closes-with-reset" => ["closing::last_reply_survives_unread_input"];
    lingers_on_and_on: "threads", "lingers-on-and-on" => ["closing::lingers_two_seconds_in_total"];
    drops_replies_at_half_close: "threads", "drops-replies-at-half-close" => ["closing::half_close_is_not_gone"];
    dies_of_a_broken_pipe: "threads", "dies-of-broken-pipe" => ["closing::vanished_readers_do_not_kill"];
    delays_replies: "threads", "delays-replies" => ["output::ping_pong_is_not_delayed"];
}

#[cfg(target_os = "linux")]
faults! {
    obeys_the_hang_up_first: "events", "obeys-hang-up-first" => ["closing::half_close_is_not_gone"];
    ignores_a_hang_up: "events", "ignores-hang-up" => ["closing::reset_is_noticed_in_any_state"];
    closes_on_overflow: "events", "closes-on-overflow" => ["output::no_reader_is_held_back_not_cut_off"];
    buffers_without_end: "events", "buffers-without-end" => ["output::no_reader_is_held_back_not_cut_off"];
    forgets_buffered_lines: "events", "forgets-buffered-lines" => ["output::goes_on_without_a_new_event"];
    repeats_partial_sends: "events", "repeats-partial-sends" => ["output::partial_writes_lose_and_repeat_nothing"];
    spins_while_blocked: "events", "spins-while-blocked" => ["output::no_reader_is_held_back_not_cut_off"];
    leaves_write_interest_on: "events", "leaves-write-interest" => ["output::no_interest_in_writing_left_on"];
    reads_once_an_edge: "events", "reads-once-an-edge" => ["output::pipelined_while_reading"];
    scans_the_clock_late: "events", "scans-clock-late" => ["stalls::stuck_output_is_closed"];
    fires_early: "events", "fires-early" => ["stalls::stuck_output_is_closed"];
    adds_stalls_up: "events", "adds-stalls-up" => ["stalls::slow_reader_is_not_cut"];
    lets_input_keep_stuck_output_alive: "events", "input-keeps-stuck-alive" =>
        ["stalls::input_does_not_keep_stuck_output_alive"];
}

//! `EVFILT_SIGNAL`. Each test has a signal of its own, since handlers belong to
//! the process, and sends it to its own thread.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Instant;

use nix::sys::pthread::{pthread_kill, pthread_self};
use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::unistd::Pid;

use crate::tools::*;

fn watch(signal: Signal, flags: u16) -> kevent {
    change(signal as usize, EVFILT_SIGNAL, EV_ADD | flags)
}

/// Makes the program handle a signal, and says whether it has.
fn handle(signal: Signal) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal as i32, Arc::clone(&flag)).unwrap();
    flag
}

/// Whether a signal is in one of this process's masks, such as `SigIgn`.
fn is_in(mask: &str, signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(mask)).unwrap();
    let bits = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
    bits >> (signal as u32 - 1) & 1 == 1
}

/// "This coexists with the signal() and sigaction() facilities"; "data returns
/// the number of times the signal has occurred since the last call".
#[test]
fn deliveries_are_counted_beside_the_handler() {
    let signal = Signal::SIGUSR1;
    let handled = handle(signal);
    let queue = queue(&[marked(watch(signal, 0), 5)]);
    assert!(poll(&queue).is_empty());
    for times in [1, 2] {
        for _ in 0..times {
            raise(signal).unwrap();
            assert!(handled.swap(false, SeqCst));
        }
        let event = wait_one(&queue);
        assert_eq!((event.ident, event.data), (signal as usize, times));
        // "This filter automatically sets the EV_CLEAR flag internally."
        assert_eq!((event.flags, mark(&event)), (EV_CLEAR, 5));
        assert!(poll(&queue).is_empty());
    }
}

/// "The filter will record all attempts to deliver a signal to a process, even
/// if the signal has been marked as SIG_IGN"; and the mark is still there
/// afterwards.
#[test]
fn ignored_signals_are_counted_and_stay_ignored() {
    let name = "signals::ignored_signals_are_counted_and_stay_ignored";
    alone(name, r#"exec env --ignore-signal=HUP "$@""#, || {
        let signal = Signal::SIGHUP;
        assert!(is_in("SigIgn", signal));
        let queue = queue(&[watch(signal, 0)]);
        raise(signal).unwrap();
        raise(signal).unwrap();
        assert_eq!(wait_one(&queue).data, 2);
        drop(queue);
        assert!(is_in("SigIgn", signal));
        raise(signal).unwrap();
    });
}

/// "except for the SIGCHLD signal, which, if ignored, will not be recorded".
#[test]
fn an_ignored_child_signal_is_not_counted() {
    let name = "signals::an_ignored_child_signal_is_not_counted";
    alone(name, r#"exec env --ignore-signal=CHLD "$@""#, || {
        assert!(is_in("SigIgn", Signal::SIGCHLD));
        let queue = queue(&[watch(Signal::SIGCHLD, 0)]);
        raise(Signal::SIGCHLD).unwrap();
        assert!(poll(&queue).is_empty());
        assert!(is_in("SigIgn", Signal::SIGCHLD));
    });
}

/// A signal that does nothing by default needs no handler of the program's, and
/// has none afterwards.
#[test]
fn harmless_signals_are_counted_without_a_handler() {
    for signal in [Signal::SIGWINCH, Signal::SIGCONT] {
        let queue = queue(&[watch(signal, 0)]);
        raise(signal).unwrap();
        assert_eq!(wait_one(&queue).data, 1);
        apply(&queue, &[change(signal as usize, EVFILT_SIGNAL, EV_DELETE)]);
        assert!(!is_in("SigCgt", signal));
        raise(signal).unwrap();
    }
}

/// The filter only looks: a signal with its default action still acts.
#[test]
fn the_default_action_still_ends_the_process() {
    let name = "signals::the_default_action_still_ends_the_process";
    if is_alone(name) {
        let queue = queue(&[watch(Signal::SIGTERM, 0)]);
        raise(Signal::SIGTERM).unwrap();
        drop(queue);
        return;
    }
    let output = run_alone(name, PLAIN);
    assert_eq!(output.status.signal(), Some(libc::SIGTERM));
}

/// A signal that is blocked is counted, and stays blocked.
#[test]
fn blocked_signals_are_counted() {
    let signal = Signal::SIGALRM;
    let mut set = SigSet::empty();
    set.add(signal);
    set.thread_block().unwrap();
    raise(signal).unwrap();
    // Sent before it was watched, and after.
    let queue = queue(&[watch(signal, 0)]);
    assert_eq!(wait_one(&queue).data, 1);
    raise(signal).unwrap();
    assert_eq!(wait_one(&queue).data, 1);
    assert!(poll(&queue).is_empty());
    assert!(is_in("SigBlk", signal));
}

/// A process that was started with a signal blocked is woken by it.
#[test]
fn a_signal_blocked_from_the_start_wakes_the_wait() {
    let name = "signals::a_signal_blocked_from_the_start_wakes_the_wait";
    let signal = Signal::SIGTERM;
    if !is_alone(name) {
        let mut set = SigSet::empty();
        set.add(signal);
        // Children inherit it; the thread ends with this test.
        set.thread_block().unwrap();
    }
    alone(name, PLAIN, || {
        assert!(is_in("SigBlk", signal));
        let queue = queue(&[watch(signal, 0)]);
        thread::scope(|scope| {
            for _ in 0..2 {
                let waiter = scope.spawn(|| wait_one(&queue).data);
                kill(Pid::this(), signal).unwrap();
                assert_eq!(waiter.join().unwrap(), 1);
            }
        });
    });
}

/// "Event notification happens before normal signal delivery processing": a wait
/// that the signal interrupts returns the event, and not EINTR.
#[test]
fn a_watched_signal_ends_the_wait_as_an_event() {
    const ROUNDS: usize = 300;
    let signal = Signal::SIGPROF;
    handle(signal);
    let turn = Barrier::new(2);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let queue = queue(&[watch(signal, 0)]);
            sender.send(pthread_self()).unwrap();
            for _ in 0..ROUNDS {
                turn.wait();
                let mut list = [change(0, 0, 0)];
                let count = queue.kevent(&[], &mut list, None);
                assert_eq!(count.unwrap(), 1);
                assert_eq!(list[0].data, 1);
            }
        });
        let waiter = receiver.recv().unwrap();
        for _ in 0..ROUNDS {
            turn.wait();
            pthread_kill(waiter, signal).unwrap();
        }
    });
}

/// A signal that is not blocked reaches its handler also while a thread waits for
/// it on a queue.
#[test]
fn a_waiting_queue_takes_no_signal_from_its_handler() {
    const ROUNDS: usize = 500;
    let name = "signals::a_waiting_queue_takes_no_signal_from_its_handler";
    alone(name, PLAIN, || {
        let signal = Signal::SIGUSR1;
        let handled = handle(signal);
        let queue = queue(&[watch(signal, 0), change(1, EVFILT_USER, EV_ADD)]);
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut count = 0;
                loop {
                    let mut events = wait(&queue);
                    events.retain(|event| event.filter == EVFILT_SIGNAL);
                    match events[..] {
                        [] => return count,
                        [event] => count += event.data,
                        _ => panic!("one event twice in one call: {events:?}"),
                    }
                }
            });
            let deadline = Instant::now() + LIMIT;
            for _ in 0..ROUNDS {
                kill(Pid::this(), signal).unwrap();
                while !handled.swap(false, SeqCst) {
                    assert!(Instant::now() < deadline, "no handler was called");
                    thread::yield_now();
                }
            }
            apply(&queue, &[kevent { fflags: NOTE_TRIGGER, ..change(1, EVFILT_USER, 0) }]);
            let rest: i64 = poll(&queue).iter().map(|event| event.data).sum();
            assert_eq!(waiter.join().unwrap() + rest, ROUNDS as i64);
        });
    });
}

/// Each queue that watches a signal gets all deliveries.
#[test]
fn each_queue_counts_for_itself() {
    let signal = Signal::SIGIO;
    handle(signal);
    let first = queue(&[watch(signal, 0)]);
    raise(signal).unwrap();
    let second = queue(&[watch(signal, 0)]);
    raise(signal).unwrap();
    assert_eq!(wait_one(&first).data, 2);
    assert_eq!(wait_one(&second).data, 1);
    drop(first);
    raise(signal).unwrap();
    assert_eq!(wait_one(&second).data, 1);
}

/// "Disable the event [...] The filter itself is not disabled": deliveries are
/// counted meanwhile, blocked ones too.
#[test]
fn a_disabled_event_counts_on() {
    let signal = Signal::SIGUSR2;
    let handled = handle(signal);
    let queue = queue(&[watch(signal, EV_DISABLE)]);
    raise(signal).unwrap();
    assert!(handled.load(SeqCst));
    let mut set = SigSet::empty();
    set.add(signal);
    set.thread_block().unwrap();
    raise(signal).unwrap();
    assert!(poll(&queue).is_empty());
    // What is pending was taken, and does not wake the wait over and over.
    assert!(poll(&crate::tools::queue(&[on(&queue, EVFILT_READ, EV_ADD)])).is_empty());
    apply(&queue, &[change(signal as usize, EVFILT_SIGNAL, EV_ENABLE)]);
    assert_eq!(wait_one(&queue).data, 2);
}

/// No delivery in any thread is missed.
#[test]
fn deliveries_in_many_threads_are_all_counted() {
    const THREADS: i64 = 4;
    const EACH: i64 = 500;
    let signal = Signal::SIGXCPU;
    handle(signal);
    let queue = queue(&[watch(signal, 0)]);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..EACH).for_each(|_| raise(signal).unwrap()));
        }
        let mut count = 0;
        while count < THREADS * EACH {
            count += wait_one(&queue).data;
        }
        assert_eq!(count, THREADS * EACH);
    });
    assert!(poll(&queue).is_empty());
}

/// A handler that the program sets later takes our place until the event is
/// added again.
#[test]
fn adding_again_finds_a_new_handler() {
    let signal = Signal::SIGVTALRM;
    let name = "signals::adding_again_finds_a_new_handler";
    alone(name, PLAIN, || {
        // With the default action there is nothing to stand before.
        let queue = queue(&[watch(signal, 0)]);
        let handled = handle(signal);
        raise(signal).unwrap();
        assert!(handled.swap(false, SeqCst));
        assert!(poll(&queue).is_empty());
        apply(&queue, &[watch(signal, 0)]);
        raise(signal).unwrap();
        assert!(handled.swap(false, SeqCst));
        assert_eq!(wait_one(&queue).data, 1);
        // The program's handler is what is left.
        drop(queue);
        raise(signal).unwrap();
        assert!(handled.load(SeqCst));
    });
}

/// What is no signal is refused.
#[test]
fn numbers_that_are_no_signals_are_refused() {
    let queue = queue(&[]);
    // 32 and 33 are the C library's own.
    for number in [0, 32, 33, 65, usize::MAX] {
        let add = change(number, EVFILT_SIGNAL, EV_ADD);
        assert_eq!(refused(&queue, add), libc::EINVAL, "{number}");
    }
    apply(&queue, &[watch(Signal::SIGKILL, 0)]);
}

/// There is room for 128 watches in the process, and again when they are gone.
#[test]
fn watches_are_limited() {
    alone("signals::watches_are_limited", PLAIN, || {
        for _ in 0..2 {
            let mut queues = Vec::new();
            let errno = loop {
                let queue = queue(&[]);
                match queue.kevent(&[watch(Signal::SIGURG, 0)], &mut [], None) {
                    Ok(_) => queues.push(queue),
                    Err(error) => break error.raw_os_error(),
                }
            };
            assert_eq!((queues.len(), errno), (128, Some(libc::ENOMEM)));
        }
    });
}

/// Watches that end while signals arrive: the handler's eight bytes never go
/// into a descriptor that has taken a closed one's number.
#[test]
fn a_watch_that_ends_leaves_other_descriptors_alone() {
    const ROUNDS: usize = 300;
    let signal = Signal::SIGURG;
    let over = AtomicBool::new(false);
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(SeqCst) {
                raise(signal).unwrap();
                sent.fetch_add(1, SeqCst);
            }
        });
        for _ in 0..ROUNDS {
            let queue = queue(&[watch(signal, 0)]);
            wait_one(&queue);
            drop(queue);
            let (mut near, mut far) = UnixStream::pair().unwrap();
            for socket in [&mut near, &mut far] {
                socket.set_nonblocking(true).unwrap();
                let error = socket.read(&mut [0; 8]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
            }
        }
        over.store(true, SeqCst);
    });
    assert!(sent.load(SeqCst) >= ROUNDS);
}

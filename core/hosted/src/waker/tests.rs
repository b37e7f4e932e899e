//! Both bells do the same; the waker over the one of this system loses nothing.

use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::*;

/// Only what waits for ever takes so long.
const FOREVER: Duration = Duration::from_secs(60);

/// The same tests for each kind of bell.
macro_rules! bells {
    ($($name:ident: $bell:ty),*) => { $(mod $name {
        use super::*;

        #[test]
        fn it_is_heard_until_it_is_silenced() {
            let bell = <$bell>::new().unwrap();
            assert!(!bell.wait(Some(Duration::ZERO)).unwrap());
            bell.ring();
            bell.ring();
            assert!(bell.wait(None).unwrap());
            assert!(bell.wait(Some(Duration::ZERO)).unwrap());
            bell.silence();
            assert!(!bell.wait(Some(Duration::ZERO)).unwrap());
        }

        #[test]
        fn a_timeout_is_never_early() {
            let bell = <$bell>::new().unwrap();
            let timeout = Duration::from_micros(10_300);
            let start = Instant::now();
            assert!(!bell.wait(Some(timeout)).unwrap());
            assert!(start.elapsed() >= timeout);
        }

        #[test]
        fn it_ends_a_wait_that_has_begun_and_every_length_of_wait_is_allowed() {
            for timeout in [None, Some(Duration::MAX), Some(FOREVER)] {
                let bell = Arc::new(<$bell>::new().unwrap());
                let (done, result) = mpsc::channel();
                let waiting = Arc::clone(&bell);
                thread::spawn(move || done.send(waiting.wait(timeout).unwrap()));
                // Usually it waits by now; if not, it will find the bell rung.
                thread::yield_now();
                bell.ring();
                assert!(result.recv_timeout(FOREVER).expect("it went on waiting"));
            }
        }
    })* };
}

bells!(condvar_bell: condvar::Bell);
#[cfg(unix)]
bells!(socket_bell: socket::Bell);

#[test]
fn many_wakes_are_one() {
    let (waker, source) = Waker::pair().unwrap();
    for _ in 0..1000 {
        waker.clone().wake();
    }
    #[cfg(unix)]
    {
        use std::io::Read as _;
        let mut bytes = [0; 16];
        let mut heard =
            std::os::unix::net::UnixStream::from(std::os::fd::AsFd::as_fd(&source).try_clone_to_owned().unwrap());
        assert_eq!(heard.read(&mut bytes).unwrap(), 1, "one byte for all of them");
    }
    source.clear();
    assert!(!source.wait(Some(Duration::ZERO)).unwrap());
    waker.wake();
    assert!(source.wait(None).unwrap());
}

#[test]
fn a_wake_after_the_source_is_gone_is_harmless() {
    let (waker, source) = Waker::pair().unwrap();
    drop(source);
    waker.wake();
    let (waker, source) = Waker::pair().unwrap();
    drop(waker);
    assert!(!source.wait(Some(Duration::ZERO)).unwrap());
    source.clear();
}

/// The same race step by step: a wake right before or right after the bell is silenced in the middle of a clear.
#[test]
fn a_wake_in_the_middle_of_a_clear_does_not_make_later_ones_mute() {
    for before in [true, false] {
        let (pending, rung) = (AtomicBool::new(false), AtomicBool::new(false));
        let wake_once = || wake(&pending, || rung.store(true, Ordering::Relaxed));
        wake_once();
        clear(&pending, || {
            if before {
                wake_once();
            }
            rung.store(false, Ordering::Relaxed);
            if !before {
                wake_once();
            }
        });
        // The look after the clear sees what that wake was for; the next one must be heard.
        wake_once();
        assert!(rung.load(Ordering::Relaxed), "mute; the wake came before the silence: {before}");
    }
}

/// The race between wake and clear: whatever was counted before a wake is seen after a clear, and the source is
/// ready whenever something is left.
#[test]
fn no_wake_is_lost_however_threads_run() {
    const THREADS: usize = 4;
    const EACH: usize = 20_000;
    let (waker, source) = Waker::pair().unwrap();
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    done.fetch_add(1, Ordering::Relaxed);
                    waker.wake();
                    // Or all of them would be done before the other side has cleared twice.
                    thread::yield_now();
                }
            });
        }
        let mut seen = 0;
        while seen < THREADS * EACH {
            assert!(source.wait(Some(FOREVER)).unwrap(), "a wake was lost at {seen}");
            source.clear();
            seen = done.load(Ordering::Relaxed);
        }
    });
}

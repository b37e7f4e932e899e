//! The system calls of the Linux shell: every `unsafe` of it, and what each errno means.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use evserver_core::{Accept, Io, Time};
use libc::{c_int, c_void};

/// Turns the -1 of a system call into the error that errno names.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Owns a descriptor that a system call has just made.
fn owned(result: c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the call that returned `fd` made it for us (its man page), and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A new epoll instance, close-on-exec.
pub fn epoll_create() -> io::Result<OwnedFd> {
    // SAFETY: epoll_create1(2) takes no pointers.
    owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
}

/// Adds, changes or removes what is watched of `fd`: epoll_ctl(2).
pub fn epoll_ctl(epoll: &OwnedFd, operation: c_int, fd: RawFd, events: u32, data: u64) -> io::Result<()> {
    let mut event = libc::epoll_event { events, u64: data };
    // SAFETY: `event` lives through the call; epoll_ctl(2) only reads it.
    check(unsafe { libc::epoll_ctl(epoll.as_raw_fd(), operation, fd, &mut event) }).map(drop)
}

/// Waits for events: without end, or not at all. A signal gives none: epoll_wait(2), EINTR.
pub fn epoll_wait<'a>(
    epoll: &OwnedFd,
    events: &'a mut [libc::epoll_event],
    sleep: bool,
) -> io::Result<&'a [libc::epoll_event]> {
    let room = c_int::try_from(events.len()).unwrap_or(c_int::MAX);
    let timeout = if sleep { -1 } else { 0 };
    // SAFETY: epoll_wait(2) writes at most `room` events, and that many are there.
    let count = unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), room, timeout) };
    match check(count) {
        Ok(count) => Ok(&events[..count as usize]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(&[]),
        Err(error) => Err(error),
    }
}

/// The monotonic clock in whole milliseconds, rounded down: clock_gettime(2).
pub fn now() -> Time {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) writes one timespec. It cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Time::from_ms(now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000)
}

/// A timer on the monotonic clock, non-blocking, close-on-exec: timerfd_create(2).
pub fn timer_create() -> io::Result<OwnedFd> {
    let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
    // SAFETY: timerfd_create(2) takes no pointers.
    owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })
}

/// Arms the timer for a moment of [`now`]'s clock; one that has passed fires at once: timerfd_settime(2).
pub fn timer_arm(timer: &OwnedFd, at: Time) -> io::Result<()> {
    // Zero would disarm it (timerfd_settime(2)); the clock's first millisecond is as good.
    let ms = at.as_ms().max(1);
    let at = libc::timespec { tv_sec: (ms / 1000) as libc::time_t, tv_nsec: (ms % 1000 * 1_000_000) as i64 };
    let once = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
    // SAFETY: timerfd_settime(2) reads `once`, which lives through the call; no old value is asked for.
    check(unsafe { libc::timerfd_settime(timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &once, std::ptr::null_mut()) })
        .map(drop)
}

/// Takes note that a timer fired, so that it is not readable any more: read(2) of timerfd_create(2), eight bytes.
pub fn timer_clear(timer: &OwnedFd) {
    let mut expirations = 0u64;
    // SAFETY: read(2) writes at most the eight bytes of `expirations`. EAGAIN means that it was clear already.
    unsafe { libc::read(timer.as_raw_fd(), (&raw mut expirations).cast::<c_void>(), size_of::<u64>()) };
}

/// A set of signals.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// These signals.
    pub fn of(signals: &[c_int]) -> Self {
        // SAFETY: sigemptyset(3) initialises the set before it is used; all zeroes is a valid sigset_t to begin with.
        let mut set = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            set
        };
        for &signal in signals {
            // SAFETY: sigaddset(3) changes the set it is given; an unknown number is an error and adds nothing.
            unsafe { libc::sigaddset(&mut set, signal) };
        }
        Self(set)
    }
}

/// Whether a signal is ignored, as it is under nohup(1): sigaction(2).
pub fn is_ignored(signal: c_int) -> bool {
    // SAFETY: sigaction(2) with no new action writes the present one to `action`.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action);
        action
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// Blocks signals for this thread and those that it starts, and returns the mask from before: pthread_sigmask(3).
pub fn block_signals(signals: &SignalSet) -> io::Result<SignalSet> {
    set_signal_mask(libc::SIG_BLOCK, signals)
}

/// Puts a mask from before back.
pub fn restore_signals(mask: &SignalSet) {
    let _ = set_signal_mask(libc::SIG_SETMASK, mask);
}

fn set_signal_mask(how: c_int, signals: &SignalSet) -> io::Result<SignalSet> {
    let mut before = SignalSet::of(&[]);
    // SAFETY: pthread_sigmask(3) reads the one set and writes the other; both live through the call.
    match unsafe { libc::pthread_sigmask(how, &signals.0, &mut before.0) } {
        0 => Ok(before),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Has a child begin with no signal blocked: fork(2) and execve(2) hand the mask on.
pub fn unblock_in_child(command: &mut Command) {
    let unblock = || set_signal_mask(libc::SIG_SETMASK, &SignalSet::of(&[])).map(drop);
    // SAFETY: between fork and exec only what is safe in a signal handler may be called (signal-safety(7)), and
    // sigemptyset(3) and pthread_sigmask(3) are; nothing is allocated.
    unsafe { command.pre_exec(unblock) };
}

/// A descriptor from which blocked signals are read, non-blocking, close-on-exec: signalfd(2).
pub fn signal_fd(signals: &SignalSet) -> io::Result<OwnedFd> {
    // SAFETY: signalfd(2) reads the set, which lives through the call; -1 asks for a new descriptor.
    owned(unsafe { libc::signalfd(-1, &signals.0, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) })
}

/// The next signal that arrived, if any: read(2) of signalfd(2).
pub fn signal_read(fd: &OwnedFd) -> Option<c_int> {
    // SAFETY: all zeroes is a valid signalfd_siginfo: it has only numbers.
    let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: read(2) writes at most `size` bytes, and `info` has that many.
    let count = unsafe { libc::read(fd.as_raw_fd(), (&raw mut info).cast::<c_void>(), size) };
    (count == size as isize).then_some(info.ssi_signo as c_int)
}

/// Accepts a client, non-blocking and close-on-exec: accept4(2).
pub fn accept(listener: BorrowedFd<'_>) -> Accept<OwnedFd, SocketAddr> {
    // SAFETY: all zeroes is a valid sockaddr_storage: it has only numbers.
    let mut address: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: accept4(2) writes at most `length` bytes of the address, and the address's true length.
    let result = unsafe { libc::accept4(listener.as_raw_fd(), (&raw mut address).cast(), &mut length, flags) };
    match owned(result) {
        Ok(socket) => Accept::Client(socket, socket_address(&address)),
        Err(error) => accept_error(error.raw_os_error().unwrap_or(0)),
    }
}

/// What an errno of accept4(2) means for the listener.
fn accept_error<S, P>(errno: c_int) -> Accept<S, P> {
    match errno {
        libc::EAGAIN => Accept::WouldBlock,
        libc::EINTR => Accept::Interrupted,
        // The client left before it was accepted, or the network has a pending error for this one: accept(2), "Error
        // handling", asks to treat these like EAGAIN. EPERM comes from a firewall.
        libc::ECONNABORTED
        | libc::EPROTO
        | libc::ENETDOWN
        | libc::ENOPROTOOPT
        | libc::EHOSTDOWN
        | libc::ENONET
        | libc::EHOSTUNREACH
        | libc::EOPNOTSUPP
        | libc::ENETUNREACH
        | libc::ETIMEDOUT
        | libc::ECONNRESET
        | libc::EPERM => Accept::Dropped,
        // EMFILE, ENFILE, ENOBUFS, ENOMEM; and whatever else, so that no error is ever tried without a rest.
        _ => Accept::Exhausted,
    }
}

/// The address in the form of the standard library: ip(7), ipv6(7).
fn socket_address(storage: &libc::sockaddr_storage) -> SocketAddr {
    match c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that this is a sockaddr_in, which is no larger than the storage.
            let address = unsafe { *(&raw const *storage).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr));
            SocketAddr::from((ip, u16::from_be(address.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that this is a sockaddr_in6, which is no larger than the storage.
            let address = unsafe { *(&raw const *storage).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
            SocketAddr::from((ip, u16::from_be(address.sin6_port)))
        }
        _ => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
    }
}

/// Receives into `space`: recv(2).
#[inline]
pub fn receive(socket: &OwnedFd, space: &mut [u8]) -> Io {
    // SAFETY: recv(2) writes at most as many bytes as `space` has.
    match unsafe { libc::recv(socket.as_raw_fd(), space.as_mut_ptr().cast(), space.len(), 0) } {
        0 => Io::End,
        count if count > 0 => Io::Moved(count as usize),
        _ => transfer_error(errno()),
    }
}

/// Sends some of the first of `bytes`; a peer that is gone is an error and no SIGPIPE: send(2).
#[inline]
pub fn send(socket: &OwnedFd, bytes: &[u8]) -> Io {
    // SAFETY: send(2) reads at most as many bytes as `bytes` has.
    match unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) } {
        count if count >= 0 => Io::Moved(count as usize),
        _ => transfer_error(errno()),
    }
}

/// What an errno of recv(2) or send(2) means for the connection.
fn transfer_error(errno: c_int) -> Io {
    match errno {
        libc::EAGAIN => Io::WouldBlock,
        libc::EINTR => Io::Interrupted,
        // ENOBUFS and ENOMEM too: TCP itself waits for memory as it waits for room, and then the poller tells. Of any other
        // shortage it knows nothing: by level it would wake the loop for ever, by edge never.
        _ => Io::Failed,
    }
}

/// Ends our stream: shutdown(2). ENOTCONN means that the peer has reset it, which the next receive tells.
pub fn shutdown_write(socket: &OwnedFd) {
    // SAFETY: shutdown(2) takes no pointers.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_one_client_is_not_one_of_the_listener() {
        for errno in [libc::ECONNABORTED, libc::EPROTO, libc::ENETDOWN, libc::EHOSTUNREACH, libc::EPERM] {
            assert!(matches!(accept_error::<(), ()>(errno), Accept::Dropped), "{errno}");
        }
        for errno in [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM, libc::EINVAL, libc::EBADF] {
            assert!(matches!(accept_error::<(), ()>(errno), Accept::Exhausted), "{errno}");
        }
        assert!(matches!(accept_error::<(), ()>(libc::EINTR), Accept::Interrupted));
        assert!(matches!(accept_error::<(), ()>(libc::EWOULDBLOCK), Accept::WouldBlock));
    }

    #[test]
    fn a_shortage_of_which_the_poller_knows_nothing_is_not_waited_for() {
        for errno in [libc::ENOBUFS, libc::ENOMEM] {
            assert_eq!(transfer_error(errno), Io::Failed);
        }
        assert_eq!((transfer_error(libc::EAGAIN), transfer_error(libc::EINTR)), (Io::WouldBlock, Io::Interrupted));
    }

    #[test]
    fn a_timer_armed_for_the_past_fires_and_zero_does_not_disarm() {
        let timer = timer_create().unwrap();
        let epoll = epoll_create().unwrap();
        epoll_ctl(&epoll, libc::EPOLL_CTL_ADD, timer.as_raw_fd(), libc::EPOLLIN as u32, 7).unwrap();
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 4];
        for at in [Time::from_ms(0), now()] {
            timer_arm(&timer, at).unwrap();
            let data = epoll_wait(&epoll, &mut events, true).unwrap().first().map(|event| event.u64);
            assert_eq!(data, Some(7));
            timer_clear(&timer);
            assert!(epoll_wait(&epoll, &mut events, false).unwrap().is_empty());
        }
    }

    #[test]
    fn blocked_signals_are_read_and_the_mask_comes_back() {
        let signals = SignalSet::of(&[libc::SIGUSR2]);
        let before = block_signals(&signals).unwrap();
        let fd = signal_fd(&signals).unwrap();
        assert_eq!(signal_read(&fd), None);
        // SAFETY: raise(3) takes no pointers; the signal is blocked in this thread.
        unsafe { libc::raise(libc::SIGUSR2) };
        assert_eq!(signal_read(&fd), Some(libc::SIGUSR2));
        restore_signals(&before);
        assert!(!is_ignored(libc::SIGUSR2));
    }
}

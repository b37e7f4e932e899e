//! The Linux system calls that the emulation stands on, each as a safe
//! function that answers `Err(errno)`.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, c_void, epoll_event, itimerspec, signalfd_siginfo, timespec};

/// An errno.
pub(super) type Errno = c_int;

/// Size of what eventfd and timerfd hand over in one read, bytes.
const COUNT_SIZE: usize = size_of::<u64>();

/// The calling thread's errno.
pub(super) fn errno() -> Errno {
    // SAFETY: __errno_location always gives this thread's own, live errno;
    // errno(3).
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's errno.
pub(super) fn set_errno(value: Errno) {
    // SAFETY: as in `errno`.
    unsafe { *libc::__errno_location() = value }
}

/// What a call that answers -1 and errno has answered.
fn answer(value: c_int) -> Result<c_int, Errno> {
    if value < 0 { Err(errno()) } else { Ok(value) }
}

/// Takes a descriptor that a call has just created.
fn created(value: c_int) -> Result<OwnedFd, Errno> {
    let fd = answer(value)?;
    // SAFETY: the kernel has just made this descriptor and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A new epoll instance, close-on-exec.
pub(super) fn epoll_create() -> Result<OwnedFd, Errno> {
    // SAFETY: no pointers; epoll_create1(2).
    created(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
}

/// What is done to a registration.
#[derive(Clone, Copy)]
pub(super) enum Ctl {
    Add,
    Modify,
    Delete,
}

/// Adds, changes or removes the registration of `fd` in `epoll`.
pub(super) fn epoll_ctl(epoll: c_int, ctl: Ctl, fd: c_int, mask: u32, token: u64) -> Result<(), Errno> {
    let op = match ctl {
        Ctl::Add => libc::EPOLL_CTL_ADD,
        Ctl::Modify => libc::EPOLL_CTL_MOD,
        Ctl::Delete => libc::EPOLL_CTL_DEL,
    };
    let mut event = epoll_event { events: mask, u64: token };
    // SAFETY: `event` lives through the call, and any descriptor numbers are
    // allowed: wrong ones are EBADF or EINVAL; epoll_ctl(2).
    answer(unsafe { libc::epoll_ctl(epoll, op, fd, &mut event) }).map_err(|error| match error {
        // The system's limit of registrations (epoll(7)); kqueue(2) says ENOMEM.
        libc::ENOSPC => libc::ENOMEM,
        other => other,
    })?;
    Ok(())
}

/// Waits until something is ready; `milliseconds` -1 waits for ever. Returns
/// the part of `room` that was filled.
pub(super) fn epoll_wait(
    epoll: c_int,
    room: &mut [MaybeUninit<epoll_event>],
    milliseconds: c_int,
) -> Result<&[epoll_event], Errno> {
    let length = c_int::try_from(room.len()).unwrap_or(c_int::MAX);
    let start = room.as_mut_ptr().cast::<epoll_event>();
    // SAFETY: the kernel writes at most `length` entries, which `room` has;
    // epoll_wait(2).
    let filled = answer(unsafe { libc::epoll_wait(epoll, start, length, milliseconds) })?;
    // SAFETY: the kernel has initialised that many entries, and they stay
    // borrowed from `room`.
    Ok(unsafe { std::slice::from_raw_parts(start, filled as usize) })
}

/// A new eventfd that holds `count`.
pub(super) fn new_event(count: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: no pointers; eventfd(2).
    created(unsafe { libc::eventfd(count, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
}

/// Adds one to an eventfd. Safe in a signal handler: write(2) is on the list of
/// signal-safety(7).
pub(super) fn count_one(event: c_int) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: eight bytes, as eventfd(2) asks. The only failure that a live
    // eventfd has is EAGAIN at 2^64-2, which no one reaches by adding one.
    unsafe { libc::write(event, one.as_ptr().cast(), COUNT_SIZE) };
}

/// Takes the count out of an eventfd or a timerfd; 0 when there is none.
pub(super) fn take_count(fd: &OwnedFd) -> u64 {
    let mut bytes = [0u8; COUNT_SIZE];
    // SAFETY: room for the eight bytes that eventfd(2) and timerfd_create(2)
    // hand over.
    let got = unsafe { libc::read(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), COUNT_SIZE) };
    // Anything but eight bytes is EAGAIN: another thread was faster.
    if got == COUNT_SIZE as isize { u64::from_ne_bytes(bytes) } else { 0 }
}

/// A new timer on the monotonic clock.
pub(super) fn new_timer() -> Result<OwnedFd, Errno> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: no pointers; timerfd_create(2).
    created(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })
}

/// Arms a timer: after `first`, then every `interval` (zero: never again).
/// Expirations that were not read are forgotten; timerfd_settime(2).
pub(super) fn arm_timer(timer: &OwnedFd, first: timespec, interval: timespec) -> Result<(), Errno> {
    let setting = itimerspec { it_interval: interval, it_value: first };
    // SAFETY: `setting` lives through the call; a null old value is allowed;
    // timerfd_settime(2).
    answer(unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &setting, ptr::null_mut()) })?;
    Ok(())
}

/// A descriptor that is readable while `signal` is pending.
pub(super) fn new_signal_descriptor(signal: c_int) -> Result<OwnedFd, Errno> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set before the others use it; a wrong
    // number only makes sigaddset fail; sigsetops(3), signalfd(2).
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        answer(libc::sigaddset(set.as_mut_ptr(), signal))?;
        created(libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
    }
}

/// Takes one pending signal away through its descriptor, if there is one.
pub(super) fn take_signal(fd: &OwnedFd) -> bool {
    let size = size_of::<signalfd_siginfo>();
    let mut info = MaybeUninit::<signalfd_siginfo>::uninit();
    // SAFETY: room for one signalfd_siginfo; signalfd(2).
    let got = unsafe { libc::read(fd.as_raw_fd(), info.as_mut_ptr().cast::<c_void>(), size) };
    got == size as isize
}

/// Whether the calling thread blocks `signal`.
pub(super) fn is_blocked(signal: c_int) -> bool {
    let mut set = MaybeUninit::uninit();
    // SAFETY: with a null new set, pthread_sigmask only fills the old one in,
    // which sigismember then reads; pthread_sigmask(3).
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr()) == 0
            && libc::sigismember(set.as_ptr(), signal) == 1
    }
}

/// Whether `fd` is a descriptor of this process.
pub(super) fn is_open(fd: c_int) -> bool {
    // SAFETY: no pointers, and any number is allowed; fcntl(2).
    unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
}

/// Makes `number`, which is open, refer to what `fresh` refers to.
pub(super) fn replace(number: c_int, fresh: &OwnedFd) -> Result<(), Errno> {
    // SAFETY: no pointers. `number` belongs to the queue, whose owner asked for
    // this; dup3(2).
    answer(unsafe { libc::dup3(fresh.as_raw_fd(), number, libc::O_CLOEXEC) })?;
    Ok(())
}
